#include "gsr/archive.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace gsr {
namespace {

// A gain below this is rounding, not a better law.
constexpr double kGain = 1e-6;

constexpr std::size_t kRunnersUp = 120;
constexpr double kBitsPerNode = 1.5;
constexpr std::size_t kRefusedKept = 20000;

bool same_terms(const Law& a, const Law& b) {
  return a.psi == b.psi &&
         std::is_permutation(a.phi.begin(), a.phi.end(), b.phi.begin(), b.phi.end());
}

std::uint64_t hash_of_terms(const Law& law) {
  std::uint64_t hash = law.psi.size();
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  for (const std::vector<Basis>* side : {&law.psi, &law.phi})
    for (const Basis& basis : *side) {
      for (const Row& row : basis) mix(RowHash()(row));
      for (int k = 0; k < basis.n_weights(); ++k) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &basis.weights[k], sizeof bits);
        mix(bits);
      }
      mix(static_cast<std::uint64_t>(basis.size));
    }
  return hash;
}

double comparable(const Law& law) { return law.exact ? 0.0 : law.rmse * (1.0 - kGain); }

}  // namespace

bool Archive::joins_front(const Law& law) const {
  if (law.exact) {
    const Law* best = best_exact();
    return best == nullptr || law.bits < best->bits;
  }
  return std::none_of(front_.begin(), front_.end(), [&](const Law& other) {
    return other.complexity <= law.complexity && comparable(other) <= law.rmse;
  });
}

// With nearly as many constants as rows any law has a small error, so the error is corrected for
// them, and each takes the bits of the digits that so many rows determine.
double Archive::length(const Law& law) const {
  auto constants = static_cast<double>(law.alpha.size() + law.beta.size()) - 1.0;
  for (const Basis& phi : law.phi) constants += phi.n_weights();
  const double left = n_rows_ - constants;
  if (left < 1.0) return std::numeric_limits<double>::infinity();
  const double deviation = std::max(law.rmse, 1e-300) * std::sqrt(n_rows_ / left);
  return n_rows_ * std::log2(deviation) + kBitsPerNode * law.complexity +
         0.5 * std::log2(n_rows_) * constants;
}

bool Archive::joins_runners_up(const Law& law) const {
  if (n_rows_ == 0.0 || law.exact || best_exact() != nullptr) return false;
  return runners_up_.size() < kRunnersUp || length(law) < length(runners_up_.back());
}

bool Archive::would_take(const Law& law) const { return joins_front(law) || joins_runners_up(law); }

void Archive::keep_runner_up(const Law& law) {
  if (!joins_runners_up(law)) return;
  const auto same = std::find_if(runners_up_.begin(), runners_up_.end(),
                                 [&](const Law& other) { return same_terms(law, other); });
  if (same != runners_up_.end()) {
    if (same->rmse <= law.rmse) return;
    runners_up_.erase(same);
  }
  const auto place = std::find_if(runners_up_.begin(), runners_up_.end(),
                                  [&](const Law& other) { return length(other) > length(law); });
  runners_up_.insert(place, law);
  if (runners_up_.size() > kRunnersUp) runners_up_.pop_back();
}

bool Archive::accepts(const Law& law) {
  if (!accept_ || !would_take(law)) return true;
  const std::uint64_t key = hash_of_terms(law);
  if (refused_.count(key) != 0) return false;
  if (accept_(law)) return true;
  if (refused_.size() >= kRefusedKept) refused_.clear();
  refused_.insert(key);
  return false;
}

bool Archive::offer(const Law& law) {
  if (!accepts(law)) return false;
  if (!joins_front(law)) {
    keep_runner_up(law);
    return false;
  }
  const auto beaten = [&](const Law& other) {
    return (law.exact && other.exact) ||
           (other.complexity >= law.complexity && comparable(law) <= other.rmse);
  };
  for (const Law& other : front_)
    if (beaten(other)) keep_runner_up(other);
  front_.erase(std::remove_if(front_.begin(), front_.end(), beaten), front_.end());
  const auto place = std::find_if(front_.begin(), front_.end(), [&](const Law& other) {
    return other.complexity > law.complexity;
  });
  front_.insert(place, law);
  return true;
}

bool Archive::holds(const Law& law) const {
  const auto same = [&](const Law& other) { return same_terms(law, other); };
  return std::any_of(front_.begin(), front_.end(), same) ||
         std::any_of(runners_up_.begin(), runners_up_.end(), same);
}

void Archive::restore(std::vector<Law> front, std::vector<Law> runners_up,
                      std::set<std::uint64_t> refused) {
  front_ = std::move(front);
  runners_up_ = std::move(runners_up);
  refused_ = std::move(refused);
}

const Law* Archive::best_exact() const {
  const auto found =
      std::find_if(front_.begin(), front_.end(), [](const Law& law) { return law.exact; });
  return found == front_.end() ? nullptr : &*found;
}

double Archive::best_rmse() const {
  return front_.empty() ? std::numeric_limits<double>::infinity() : front_.back().rmse;
}

}  // namespace gsr

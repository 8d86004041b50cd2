#include "gsr/archive.hpp"

#include <algorithm>

namespace gsr {
namespace {

// Among exact laws errors are rounding noise: they count as equal.
double comparable(const Law& law) { return law.exact ? 0.0 : law.rmse; }

// A gain below this is rounding, not a better law.
constexpr double kGain = 1e-6;

}  // namespace

bool Archive::would_take(int complexity, double rmse) const {
  return std::none_of(front_.begin(), front_.end(), [&](const Law& law) {
    return law.complexity <= complexity && comparable(law) * (1.0 - kGain) <= rmse;
  });
}

bool Archive::offer(const Law& law) {
  if (!would_take(law.complexity, comparable(law))) return false;
  front_.erase(std::remove_if(front_.begin(), front_.end(),
                              [&](const Law& other) {
                                return other.complexity >= law.complexity &&
                                       comparable(other) >= comparable(law);
                              }),
               front_.end());
  const auto place =
      std::find_if(front_.begin(), front_.end(),
                   [&](const Law& other) { return other.complexity > law.complexity; });
  front_.insert(place, law);
  return true;
}

const Law* Archive::best_exact() const {
  const Law* best = nullptr;
  for (const Law& law : front_)
    if (law.exact && (best == nullptr || law.bits < best->bits)) best = &law;
  return best;
}

double Archive::best_rmse() const {
  return front_.empty() ? std::numeric_limits<double>::infinity() : front_.back().rmse;
}

}  // namespace gsr

#include "gsr/archive.hpp"

#include <algorithm>

namespace gsr {
namespace {

// A gain below this is rounding, not a better law.
constexpr double kGain = 1e-6;

double comparable(const Law& law) { return law.exact ? 0.0 : law.rmse * (1.0 - kGain); }

}  // namespace

bool Archive::would_take(const Law& law) const {
  if (law.exact) {
    const Law* best = best_exact();
    return best == nullptr || law.bits < best->bits;
  }
  return std::none_of(front_.begin(), front_.end(), [&](const Law& other) {
    return other.complexity <= law.complexity && comparable(other) <= law.rmse;
  });
}

bool Archive::offer(const Law& law) {
  if (!would_take(law)) return false;
  front_.erase(std::remove_if(front_.begin(), front_.end(),
                              [&](const Law& other) {
                                return (law.exact && other.exact) ||
                                       (other.complexity >= law.complexity &&
                                        (law.exact || other.rmse >= law.rmse));
                              }),
               front_.end());
  const auto place =
      std::find_if(front_.begin(), front_.end(),
                   [&](const Law& other) { return other.complexity > law.complexity; });
  front_.insert(place, law);
  return true;
}

const Law* Archive::best_exact() const {
  const auto found = std::find_if(front_.begin(), front_.end(),
                                  [](const Law& law) { return law.exact; });
  return found == front_.end() ? nullptr : &*found;
}

double Archive::best_rmse() const {
  return front_.empty() ? std::numeric_limits<double>::infinity() : front_.back().rmse;
}

}  // namespace gsr

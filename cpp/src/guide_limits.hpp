// How far the guide goes at each level, and the sizes that its parts share.
#pragma once

#include <algorithm>

#include "gsr/candidates.hpp"

namespace gsr::limits {

inline constexpr int kColumns = 28;  // of an individual made here
// Sets of columns are followed far only for the best goals; the others get a glance.
inline constexpr std::size_t kFavoured = 8;
inline constexpr double kNearlyExact = 1e-14;  // share of the variance that is left

inline Reach reach(int level, std::size_t n_features) {
  const std::size_t d = std::max<std::size_t>(1, n_features);
  switch (level) {
    case 0: return {2, 60 + 20 * d, 200 + 60 * d, 400 + 100 * d, false};
    case 1: return {4, 200 + 80 * d, 3000 + 2000 * d, 2000 + 1000 * d, true};
    case 2: return {5, 400 + 250 * d, 6000 + 4000 * d, 6000 + 3000 * d, true};
    default: return {6, 800 + 500 * d, 10000 + 4000 * d, 20000 + 5000 * d, true};
  }
}

inline Index rows(int level, int n_features) {
  const Index few = 40 + 4 * std::min(n_features, 12);
  return level == 0 ? few : level == 1 ? 2 * few : level == 2 ? 4 * few : 1600;
}

inline constexpr Index kBesideRows = 240;  // for scans with many free columns

inline constexpr int kRounds = 4;  // neighbours of neighbours

inline int beam(int level) { return level < 2 ? 3 : 4; }
inline int depth(int level) { return level == 0 ? 5 : 6; }
// So many of the cheapest columns are paired with all.
inline Index pair_reach(int level) { return level == 0 ? 500 : level == 1 ? 1200 : 3000; }

inline Columns weighed(Columns columns, const Buffer& weights) {
  for (Index j = 0; j < columns.n_columns(); ++j)
    for (std::size_t i = 0; i < weights.size(); ++i) columns[j][i] *= weights[i];
  return columns;
}

}  // namespace gsr::limits

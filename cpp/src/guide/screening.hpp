// Which of many features are worth combining with each other: those that explain something of y
// alone, in pairs or in triples, beside what is explained already.
#pragma once

#include <vector>

#include "gsr/dataset.hpp"

namespace gsr::guide {

// At most so many of the features (numbered from 1), in the order in which they were chosen: first
// those that explain more than chance does, then the next best.
std::vector<int> screen_features(const Columns& x, const double* y,
                                 const std::vector<int>& features, std::size_t most);

}  // namespace gsr::guide

// Small sets of basis functions that belong together (all powers up to a degree, logarithms and
// lines, sines and cosines ...) and are solved whole.
#pragma once

#include <vector>

#include "gsr/composition.hpp"

namespace gsr {

using WholeSet = std::vector<std::vector<composition::Tree>>;

// None has more than `most` basis functions.
std::vector<WholeSet> whole_sublibraries(const Table& table, const std::vector<int>& features,
                                         std::size_t most);

// The first of them: all powers up to the degree that fits, and quotients.
std::vector<WholeSet> power_sets(const Table& table, const std::vector<int>& features,
                                 std::size_t most);

}  // namespace gsr

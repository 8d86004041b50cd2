// Which atoms there are, by cost, before any of them is evaluated.
#pragma once

#include <vector>

#include "gsr/composition.hpp"

namespace gsr {

struct Recipe {
  composition::Tree tree;
  int cost;
};

// At most `limit` atoms over the features, cheapest first. `depth` widens the families: 0 sums and
// differences of powers and transformations of products, 1 and more deeper compositions.
std::vector<Recipe> atom_recipes(const Table& table, const std::vector<int>& features, int degree,
                                 std::size_t limit);

}  // namespace gsr

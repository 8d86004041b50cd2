// Which atoms there are, by cost, before any of them is evaluated.
#pragma once

#include <vector>

#include "gsr/candidates.hpp"

namespace gsr {

struct Recipe {
  composition::Tree tree;
  int cost;
};

// Half of the atoms that the reach allows, cheapest first; powers of them are the rest. Features
// whose values have both signs come with their absolute values.
std::vector<Recipe> atom_recipes(const Table& table, const Settings& settings,
                                 const std::vector<int>& features,
                                 const std::vector<int>& of_both_signs, const Reach& reach);

}  // namespace gsr

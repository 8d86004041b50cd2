// Which atoms there are, by cost, before any of them is evaluated.
#pragma once

#include <vector>

#include "gsr/candidates.hpp"

namespace gsr {

struct Recipe {
  composition::Tree tree;
  int cost;
};

// Half of the atoms that the reach allows, cheapest first; powers of them are the rest.
std::vector<Recipe> atom_recipes(const Table& table, const Settings& settings,
                                 const std::vector<int>& features, const Reach& reach);

}  // namespace gsr

// How individuals come about (Algorithm 2): at random, by crossover, by mutation. Each fills the
// basis sets of a solver; the random generator comes first.
#pragma once

#include <vector>

#include "gsr/fitness.hpp"
#include "gsr/random.hpp"

namespace gsr {

// L_x^s and L_y^s: the transformations in use, as codes.
struct Sublibrary {
  std::vector<int> x;
  std::vector<int> y;
};

Basis random_basis(Random& random, const std::vector<int>& codes, int n_features,
                   const Settings& settings);
Basis random_target_basis(Random& random, const std::vector<int>& codes, const Settings& settings);

// Fills what is left of both sets with random basis functions.
void complete_at_random(Random& random, const Sublibrary& sublibrary, const Problem& problem,
                        BasisSet& phi, BasisSet& psi);
// Takes basis functions of two parents in random order until the sets are full.
void crossover(Random& random, const Individual& a, const Individual& b, BasisSet& phi,
               BasisSet& psi);
// Keeps all but `n_mutated` randomly chosen basis functions of the parent.
void keep_unmutated(Random& random, const Individual& parent, int n_mutated, BasisSet& phi,
                    BasisSet& psi);

Sublibrary choose_sublibrary(int generation, const Problem& problem);

}  // namespace gsr

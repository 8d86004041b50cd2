// Similarity variables: y = m(x) F(u(x)) or y = m(x) F(u(x), v(x)), in which m, u and v are
// products of powers. In logarithms, ln|y| is linear but for a function of one direction or two.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "goals.hpp"
#include "terms.hpp"
#include "tuning.hpp"

namespace gsr::guide {

struct Similarity {
  Trees bases;                // whose powers are multiplied: features, perhaps a difference of two
  Eigen::MatrixXi exponents;  // a column for each variable
  Eigen::VectorXi twice_outer;  // twice the exponents of the prefactor m, which may have roots
  double left = 1.0;            // by the index model, of the variance
  double roughness = 1.0;       // of y/m as a function of the variables; 1 if it is none

  Index n_variables() const { return exponents.cols(); }
  // Whether y/m is such a function, up to noise that plays no part.
  bool is_certain() const {
    return roughness < tuning::kMostRoughness[n_variables() - 1] &&
           (n_variables() == 1 || left < tuning::kIndexedWell);
  }
  Tree variable(Index j, const Table& table) const;
  // Factors of m^(twice_power / 2); nothing if that is no product of powers and square roots.
  std::optional<Trees> prefactor(int twice_power, const Table& table) const;
};

struct Similarities {
  std::vector<Similarity> found;  // fewest variables first, then smoothest
  int n_fits = 0;                 // index models that were fitted
};

// Certain similarities. If features have none, a difference may take the place of two features;
// at level 0 it does so in functions of one variable only.
Similarities find_similarities(const Problem& problem, const std::vector<int>& features,
                               const std::vector<Monomial>& prefactors, int level);

}  // namespace gsr::guide

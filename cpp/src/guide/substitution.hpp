// Trees of features that become trees of other trees.
#pragma once

#include <Eigen/Core>

#include "terms.hpp"

namespace gsr::guide {

// The product of the bases, each to its power.
Tree product_of_powers(const Trees& bases, const Eigen::VectorXi& exponents, const Table& table);

// The tree with `variables` in the place of its features.
Tree substituted(const Tree& tree, const Trees& variables, const Table& table);

}  // namespace gsr::guide

// Terms of laws: written from factors, and evaluated.
#pragma once

#include <optional>
#include <vector>

#include "gsr/candidates.hpp"
#include "gsr/fitness.hpp"

namespace gsr::guide {

using composition::Tree;
using Trees = std::vector<Tree>;

// Appends a product as a basis function; false if the settings or the encoding do not allow it.
bool add_term(const Problem& problem, const Trees& factors, std::vector<Basis>& out);
// The basis function of a product, or nothing if it is not allowed.
std::optional<Basis> allowed_term(const Problem& problem, const Trees& factors);
// Whether f(c tree) is allowed for a real constant c.
bool may_carry_constant(const Problem& problem, const Tree& tree);
bool admits_target(const Problem& problem, const Basis& psi);

// Padded columns; empty where the function is undefined in some row.
Buffer values_of(const Basis& basis, const Dataset& data, const Table& table);
Buffer values_of(const Monomial& monomial, const Dataset& x, const Table& table);
Columns weighed(Columns columns, const Buffer& weights);

}  // namespace gsr::guide

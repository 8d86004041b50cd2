// From a sum of logarithms to the product that it stands for.
#pragma once

#include "terms.hpp"

namespace gsr::guide {

// The prefactor times exp of the law's terms: powers where they are logarithms, exponentials where
// not. False if an exponent is no half within the tolerance, or the table lacks a function that it
// takes.
bool product_factors(const Law& law, const Monomial& prefactor, const Table& table,
                     double tolerance, Trees& factors);

}  // namespace gsr::guide

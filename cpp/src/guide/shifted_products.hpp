// Left sides of laws psi(y) = p (1 + product) and p (-1 + product), with a monomial p: ln|psi(y)/p
// - 1| and ln|psi(y)/p + 1| are sums of logarithms, whatever the exponents of the product are.
#pragma once

#include <vector>

#include "goals.hpp"

namespace gsr::guide {

// `likely`: for y and 1/y with p a feature, its reciprocal, or one of the prefactors alone and with
// one more feature; and those of y, 1/y, y^2 and 1/y^2 with any p that logarithms of the features
// explain best. `others`: those that come after these.
struct ShiftedProducts {
  std::vector<Goal> likely, others;
};

// `logarithm` is the goal ln|y|.
ShiftedProducts shifted_products(const Sample& sample, const std::vector<Monomial>& prefactors,
                                 const Goal& logarithm);

}  // namespace gsr::guide

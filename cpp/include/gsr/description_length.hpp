// How many bits a law takes to write down. A residual at rounding level is no proof of a law (many
// smooth terms reach it by accident); few terms with simple constants are.
#pragma once

#include <vector>

#include "gsr/law.hpp"

namespace gsr {

// Bits of a constant that is known to within `tolerance`: those of the simplest fraction in reach
// if that is a surprise, else all digits.
double constant_bits(double value, double tolerance);

// Structure and constants; tolerances[j] belongs to alpha[j].
double description_length(const Law& law, const std::vector<double>& tolerances);

// The same for a law that is not exact, whose constants mean all their digits.
double rough_bits(const Law& law);

// Bits that a law may have to be accepted at this generation: strict at first, then relaxed,
// as the paper relaxes its error threshold.
double accepted_bits(int generation);

}  // namespace gsr

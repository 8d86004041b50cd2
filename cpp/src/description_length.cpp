#include "gsr/description_length.hpp"

#include <algorithm>
#include <cmath>

namespace gsr {
namespace {

constexpr double kBitsPerNode = 3.0;
constexpr double kBitsOfDouble = 52.0;
constexpr double kBitsAtStart = 160.0;
constexpr double kBitsPerDoubling = 40.0;

}  // namespace

double constant_bits(double value, double tolerance) {
  const double size = std::abs(value);
  // An ill-conditioned constant must not pass for a simple one because anything is in reach.
  tolerance = std::min(tolerance, 1e-7 * size);
  const double known = std::log2(1.0 + size / tolerance);
  // Convergents of the continued fraction are the simplest fractions nearby.
  double x = size;
  double p0 = 0.0, q0 = 1.0, p1 = 1.0, q1 = 0.0;
  for (int i = 0; i < 20; ++i) {
    const double whole = std::floor(x);
    const double p = whole * p1 + p0;
    const double q = whole * q1 + q0;
    if (std::abs(size - p / q) <= tolerance) {
      const double bits = 1.0 + std::log2(1.0 + p) + std::log2(q);
      return 2.0 * bits < known ? bits : kBitsOfDouble;
    }
    if (x - whole < 1e-15) break;
    p0 = p1, q0 = q1, p1 = p, q1 = q;
    x = 1.0 / (x - whole);
  }
  return kBitsOfDouble;
}

double description_length(const Law& law, const std::vector<double>& tolerances) {
  double bits = kBitsPerNode * law.complexity;
  for (std::size_t j = 0; j < law.alpha.size(); ++j)
    bits += constant_bits(law.alpha[j], tolerances[j]);
  for (std::size_t j = 1; j < law.beta.size(); ++j)
    bits += constant_bits(law.beta[j], 1e-9 * std::abs(law.beta[j]));
  for (const Basis& phi : law.phi)
    for (int k = 0; k < phi.n_weights(); ++k) {
      const double weight = phi.weights[k];
      if (weight != 1.0) bits += constant_bits(weight, 1e-9 * std::abs(weight));
    }
  return bits;
}

double rough_bits(const Law& law) {
  const auto constants = static_cast<double>(law.alpha.size() + law.beta.size() - 1);
  return kBitsPerNode * law.complexity + kBitsOfDouble * constants;
}

double accepted_bits(int generation) {
  return kBitsAtStart + kBitsPerDoubling * std::log2(1.0 + generation / 20.0);
}

}  // namespace gsr

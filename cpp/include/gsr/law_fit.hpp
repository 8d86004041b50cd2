// All constants of a law fitted together on the scale of y. Damped Gauss-Newton steps on
// y - g^{-1}(f(x)) are iteratively reweighted least squares with the link g (Nelder and
// Wedderburn).
#pragma once

#include <vector>

#include "gsr/evaluate.hpp"
#include "gsr/law.hpp"
#include "gsr/least_squares.hpp"

namespace gsr {

class LawFit {
 public:
  // `row_weights` are square roots with a mean square of 1; empty: all rows alike.
  LawFit(const Dataset& x, const Dataset& y, const Table& table, const Table& target_table,
         const Buffer& row_weights);

  // Whether the left side is one psi with a closed inverse and no constants of its own.
  bool supports(const Law& law);
  // Moves the coefficients and the constants inside phi, those that are `free` (in the order of
  // `constants`; empty: all), to a minimum of the squared error of y; sets the error. Infinite if
  // the law has no solution in some row. The law must be supported.
  void refine(Law& law, int steps, const std::vector<bool>& free = {});
  // R of the QR decomposition of [dy/dc, residual], by which the law is linearised around its
  // constants; empty if the law has no solution in some row.
  Matrix linearise(const Law& law);

 private:
  struct Place {
    std::size_t term, weight;
  };

  static std::vector<Place> inner_constants(const Law& law);
  static void move(Law& law, const std::vector<Place>& inner, const Vector& step);
  double squared_error(const Law& law);
  void fill_jacobian(const Law& law, const std::vector<Place>& inner);
  void fill_inner_derivative(const Basis& basis, const Place& place, double alpha, double* out);
  void bound_slopes();
  Matrix triangle();

  const Dataset& x_;
  const Dataset& y_;
  TargetScale scale_;
  Buffer row_weights_;
  Evaluator evaluator_;
  Columns columns_;
  Buffer f_, solution_, slope_, residual_, up_, down_;
  Matrix jacobian_;  // the residuals in its last column
};

}  // namespace gsr

// Real constants inside arguments, by separable non-linear least squares: the coefficients are
// solved for at every step (variable projection, with Kaufman's Jacobian).
#pragma once

#include <vector>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"
#include "gsr/evaluate.hpp"
#include "gsr/least_squares.hpp"

namespace gsr {

class Refiner {
 public:
  // `row_weights`: square roots; empty: all rows alike.
  Refiner(const Dataset& x, const Table& table, Buffer row_weights = {});

  // Moves the weights of the basis functions (but those that are exactly 1) to a minimum of the
  // residual of `target` beside the constant; returns the share of the target's norm that is left.
  double improve(const double* target, std::vector<Basis>& bases, int steps);

 private:
  struct Weight {
    std::size_t basis, place;
  };

  double residual(const double* target, const std::vector<Basis>& bases);
  void fill_jacobian(const std::vector<Basis>& bases, const std::vector<Weight>& free);
  void weigh(double* column) const;
  bool derivative(const Basis& basis, std::size_t place, double* out);

  const Dataset& x_;
  Buffer row_weights_;
  Evaluator evaluator_;
  Orthogonalizer qr_;
  Columns columns_, jacobian_;
  Buffer rest_, up_, down_;
  Vector inside_, alpha_;
};

}  // namespace gsr

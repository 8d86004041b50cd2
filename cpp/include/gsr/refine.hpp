// Real constants inside arguments, by separable non-linear least squares: the coefficients are
// solved for at every step (variable projection, with Kaufman's Jacobian).
#pragma once

#include <vector>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"
#include "gsr/evaluate.hpp"
#include "gsr/gradient.hpp"
#include "gsr/least_squares.hpp"

namespace gsr {

class Refiner {
 public:
  // `row_weights`: square roots; empty: all rows alike.
  Refiner(const Dataset& x, const Table& table, Buffer row_weights = {});

  // Moves the weights of the basis functions (but those that are exactly 1) to a minimum of the
  // residual of `target` beside the constant; returns the share of the target's norm that is left.
  double improve(const double* target, std::vector<Basis>& bases, int steps);

  // The model around its constants, on weighted rows: what is left of the target, the coefficients
  // (that of the constant first), and an orthonormal basis of everything that a small change of the
  // constants and coefficients can reach. Infinity if the model is undefined or degenerate.
  double linearise(const double* target, const std::vector<Basis>& bases);
  const Buffer& rest() const { return rest_; }
  const Vector& coefficients() const { return alpha_; }
  const Orthogonalizer& reach() const { return qr_; }
  // Norm of a term's weighted column, of the model linearised last.
  double term_norm(Index term) const;
  // Norm of the weighted target beside the constant alone.
  double spread(const double* target) { return residual(target, {}); }

  long n_columns_evaluated() const { return n_evaluated_; }

 private:
  struct Weight {
    Index basis, place;
  };

  static std::vector<Weight> free_weights(const std::vector<Basis>& bases);
  double residual(const double* target, const std::vector<Basis>& bases);
  void fill_jacobian(const std::vector<Basis>& bases, const std::vector<Weight>& free);
  void weigh(double* column) const;
  void differentiate(const Basis& basis);
  void differentiate_by_steps(const Basis& basis);

  const Dataset& x_;
  Buffer row_weights_;
  Evaluator evaluator_;
  Gradient gradient_;
  Orthogonalizer qr_;
  Columns columns_, jacobian_, derivatives_;
  Buffer rest_, up_, down_;
  Vector inside_, alpha_;
  long n_evaluated_ = 0;
};

}  // namespace gsr

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
  // A column of which no more than this share is independent of the others makes a model undefined.
  void set_distinct(double share) { distinct_ = share; }
  // Columns that are in every model, as the constant is. Dependent ones are left out.
  void set_free(const Columns& columns);

  // Moves the weights of the basis functions (but those that are exactly 1) to a minimum of the
  // residual of `target`; returns the share that is left of the target's norm beside the constant
  // and the free columns.
  double improve(const double* target, std::vector<Basis>& bases, int steps);

  // The model around its constants, on weighted rows: what is left of the target, the coefficients,
  // and an orthonormal basis of everything that a small change of the
  // constants and coefficients can reach. Infinity if the model is undefined or degenerate.
  double linearise(const double* target, const std::vector<Basis>& bases);
  const Buffer& rest() const { return rest_; }
  double coefficient(Index term) const { return alpha_(n_free_ + term); }
  // By how much the residual's norm grows, to second order, if a term is left out.
  std::vector<double> losses(Index n_terms);
  const Orthogonalizer& reach() const { return qr_; }
  // Its first directions, which are those of the constant and the free columns.
  Index n_free() const { return n_free_; }
  // Leaves of a weighted column what is beside the constant and the free columns; of the model that
  // was linearised nothing remains.
  void project_free(double* column);
  // Norm of a term's weighted column, of the model linearised last.
  double term_norm(Index term) const;
  // Norm of the weighted target beside the constant and the free columns.
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
  Index n_free_ = 0;  // the constant and the free columns
  Columns columns_, jacobian_, derivatives_;
  Buffer rest_, up_, down_;
  Vector inside_, alpha_;
  double distinct_ = 1e-6;
  double size_ = 0.0;  // norm of the weighted target
  long n_evaluated_ = 0;
};

}  // namespace gsr

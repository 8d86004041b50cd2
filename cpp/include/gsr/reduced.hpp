// The least-squares problem of one individual in coordinates: with [1 X] = QR, every column and
// every target is a vector of at most M_phi + M_psi + 1 numbers whatever the number of rows, and
// lasso, refit and elimination work there.
#pragma once

#include <vector>

#include "gsr/least_squares.hpp"

namespace gsr {

// Column 0 is the constant basis function; the others follow in the order of their cost.
class Reduced {
 public:
  void reset(Index n_rows, Index max_columns, Index max_targets);
  bool push_column(const double* column, int member);
  // Targets come after all columns; those that are constant or depend on others are dropped.
  void push_target(const double* values, double rounding_norm);
  void finish();

  Index n_rows() const { return n_rows_; }
  Index n_columns() const { return orthogonalizer_.size(); }
  Index n_targets() const { return ssize(target_members_); }
  // Which basis function column j is; -1 is the constant.
  int member(Index j) const { return members_[j]; }
  // Which of the pushed targets target k is.
  int target_member(Index k) const { return target_members_[k]; }

  const Columns& columns() const { return columns_; }
  const Columns& targets() const { return targets_; }
  double column_norm(Index j) const { return norms_(j); }
  // R_Y: with it Y R_Y^{-1} is orthonormal (centred targets), which makes ||Y beta|| = 1 a unit
  // sphere.
  auto whitening() const { return target_space_.r(); }
  auto r() const { return orthogonalizer_.r(); }
  double rounding_norm(Index k) const { return rounding_norms_(k); }

 private:
  void write_target(Index j, double* out);
  bool keep_target(const double* target);

  Index n_rows_ = 0, max_targets_ = 0, pushed_ = 0;
  Orthogonalizer orthogonalizer_;  // of the columns
  Orthogonalizer remainder_;       // of what they leave of the targets
  Orthogonalizer target_space_;    // of the centred targets, in coordinates
  std::vector<int> members_, target_members_;
  Columns residuals_;
  Columns columns_, targets_, centred_;
  Matrix inside_;
  Vector norms_, rounding_norms_;
};

// The fit of a subset of the columns: coefficients alpha (of the columns in the subset, in order)
// and beta with ||Y_c beta|| = 1, and what is left.
class SubsetFit {
 public:
  void resize(Index max_dimension, Index max_columns, Index max_targets);
  void solve(const Reduced& problem, const std::vector<Index>& subset);

  double error() const { return error_; }
  const Vector& alpha() const { return alpha_; }
  const Vector& beta() const { return beta_; }
  // Error that each column of the subset accounts for: how much the residual's square grows
  // without it.
  const Vector& removal_cost();
  // Standard error of each alpha for a residual of unit norm.
  const Vector& unit_errors();
  // The residual in units of rounding: about 1 where the law is exact.
  double rounding_ratio(const Reduced& problem, const std::vector<Index>& subset) const;

 private:
  void choose_beta(const Reduced& problem);

  Orthogonalizer orthogonalizer_;
  Columns rest_;
  Matrix inside_, block_;
  Vector alpha_, beta_, combined_, cost_, unit_errors_;
  double error_ = 0.0;
};

}  // namespace gsr

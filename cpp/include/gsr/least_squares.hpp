// Least squares by Gram-Schmidt: columns are orthogonalised one by one, dependent ones are refused.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "gsr/dataset.hpp"

namespace gsr {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// A = Q R. Storage is kept between uses: nothing is allocated after the first.
class Orthogonalizer {
 public:
  void reset(Index n_rows, Index capacity);
  // Keeps the first `size` columns.
  void truncate(Index size) { size_ = size; }

  // Adds a column unless all but `tolerance` of it lies in the span of the earlier ones. With the
  // Kahan-Parlett rule ("twice is enough") Q stays orthonormal to rounding.
  bool push(const double* column, double tolerance = 1e-9);

  // t = Q' b; b, a padded column, becomes the residual b - Q t.
  void project(double* b, double* t) { project(b, t, step_.data()); }
  // With space for as many numbers as there are columns, by which threads can share it.
  void project(double* b, double* t, double* space) const;

  // Coefficients of the columns for the projected target t (R a = t), in the order of pushing.
  void solve(const double* t, double* a) const;

  // Row norms of R^{-1}: standard errors of the coefficients for unit noise.
  void inverse_row_norms(double* norms);

  // Coordinates of the column refused last.
  const double* refused() const { return r_.col(size_).data(); }

  Index size() const { return size_; }
  auto r() const { return r_.topLeftCorner(size_, size_); }
  const double* q(Index j) const { return q_[j]; }

 private:
  Columns q_;
  Matrix r_;
  Matrix inverse_;
  Vector step_;
  Index size_ = 0;
  Index capacity_ = 0;
};

}  // namespace gsr

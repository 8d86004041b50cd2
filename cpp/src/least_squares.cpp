#include "gsr/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace gsr {

void Orthogonalizer::reset(Index n_rows, Index capacity) {
  size_ = 0;
  if (q_.n_rows() == n_rows && capacity_ >= capacity) return;
  capacity_ = std::max(capacity, capacity_);
  q_.resize(n_rows, capacity_ + 1);  // one more for a column that is refused
  r_.setZero(capacity_, capacity_ + 1);
  inverse_.setZero(capacity_, capacity_);
  step_.setZero(capacity_);
}

bool Orthogonalizer::push(const double* column, double tolerance) {
  using Map = Eigen::Map<Vector, Eigen::Aligned64>;
  Map v(q_[size_], q_.stride());
  std::copy_n(column, q_.stride(), v.data());
  auto r = r_.col(size_);
  r.head(size_).setZero();
  const double full = v.norm();
  if (!(full > 0.0) || !std::isfinite(full)) return false;

  double before = full;
  double after = full;
  for (int pass = 0; pass < 2 && size_ > 0; ++pass) {
    step_.head(size_).noalias() = q().transpose() * v;
    v.noalias() -= q() * step_.head(size_);
    r.head(size_) += step_.head(size_);
    after = v.norm();
    if (after <= tolerance * full) return false;
    if (after > 0.5 * before) break;
    before = after;
  }
  r(size_) = after;
  v /= after;
  ++size_;
  return true;
}

void Orthogonalizer::project(double* b, double* t) const {
  Eigen::Map<Vector> target(b, q_.stride());
  Eigen::Map<Vector> coordinates(t, size_);
  coordinates.noalias() = q().transpose() * target;
  target.noalias() -= q() * coordinates;
  // A second pass keeps the residual at rounding where the fit is exact.
  for (Index k = 0; k < size_; ++k) {
    const double rest = q().col(k).dot(target);
    target -= rest * q().col(k);
    coordinates(k) += rest;
  }
}

void Orthogonalizer::solve(const double* t, double* a) const {
  for (Index i = size_ - 1; i >= 0; --i) {
    double sum = t[i];
    for (Index j = i + 1; j < size_; ++j) sum -= r_(i, j) * a[j];
    a[i] = sum / r_(i, i);
  }
}

void Orthogonalizer::inverse_row_norms(double* norms) {
  for (Index j = 0; j < size_; ++j) {
    for (Index i = j; i >= 0; --i) {
      double sum = i == j ? 1.0 : 0.0;
      for (Index k = i + 1; k <= j; ++k) sum -= r_(i, k) * inverse_(k, j);
      inverse_(i, j) = sum / r_(i, i);
    }
  }
  for (Index i = 0; i < size_; ++i) norms[i] = inverse_.row(i).segment(i, size_ - i).norm();
}

}  // namespace gsr

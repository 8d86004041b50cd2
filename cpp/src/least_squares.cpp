#include "gsr/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "small_blas.hpp"

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
  const Index stride = q_.stride();
  double* v = q_[size_];
  std::copy_n(column, q_.n_rows(), v);
  std::fill(v + q_.n_rows(), v + stride, 0.0);
  double* r = r_.col(size_).data();
  std::fill_n(r, size_, 0.0);
  const double full = std::sqrt(small_blas::dot(v, v, stride));
  if (!(full > 0.0) || !std::isfinite(full)) return false;

  double before = full;
  double after = full;
  for (int pass = 0; pass < 2 && size_ > 0; ++pass) {
    small_blas::dots(q_[0], stride, size_, v, step_.data());
    small_blas::subtract(q_[0], stride, size_, step_.data(), v);
    double removed = 0.0;
    for (Index j = 0; j < size_; ++j) {
      r[j] += step_(j);
      removed += step_(j) * step_(j);
    }
    // Pythagoras is accurate unless most was removed.
    const double rest = before * before - removed;
    after =
        rest > 0.3 * before * before ? std::sqrt(rest) : std::sqrt(small_blas::dot(v, v, stride));
    if (after <= tolerance * full) return false;
    if (after > 0.5 * before) break;
    before = after;
  }
  r[size_] = after;
  const double scale = 1.0 / after;
  for (Index i = 0; i < stride; ++i) v[i] *= scale;
  ++size_;
  return true;
}

// The second pass keeps the residual at rounding where the fit is exact.
void Orthogonalizer::project(double* b, double* t, double* space) const {
  const Index stride = q_.stride();
  std::fill_n(t, size_, 0.0);
  for (int pass = 0; pass < 2; ++pass) {
    small_blas::dots(q_[0], stride, size_, b, space);
    small_blas::subtract(q_[0], stride, size_, space, b);
    for (Index j = 0; j < size_; ++j) t[j] += space[j];
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

#include "gsr/reduced.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gsr {
namespace {

// Terms that are this much larger than the target and cancel are an accident, not a law.
constexpr double kCancellation = 30.0;

// Part of a target that must not be explained by the constant and the other targets.
constexpr double kDependent = 1e-9;

using ColumnMap = Eigen::Map<const Vector>;

ColumnMap column(const Columns& columns, Index j, Index n) { return ColumnMap(columns[j], n); }

}  // namespace

void Reduced::reset(Index n_rows, Index max_columns, Index max_targets) {
  const Index dimension = max_columns + max_targets;
  if (n_rows_ != n_rows || columns_.n_columns() < max_columns || max_targets_ != max_targets) {
    n_rows_ = n_rows;
    max_targets_ = max_targets;
    columns_.resize(dimension, max_columns);
    targets_.resize(dimension, max_targets);
    centred_.resize(dimension, 1);
    residuals_.resize(n_rows, max_targets);
    inside_.setZero(max_columns, max_targets);
    norms_.setZero(max_columns);
    rounding_norms_.setZero(max_targets);
    members_.reserve(static_cast<std::size_t>(max_columns));
    target_members_.reserve(static_cast<std::size_t>(max_targets));
  }
  orthogonalizer_.reset(n_rows, max_columns);
  remainder_.reset(n_rows, max_targets);
  target_space_.reset(dimension, max_targets);
  members_.clear();
  target_members_.clear();
  pushed_ = 0;
}

bool Reduced::push_column(const double* values, int member) {
  if (!orthogonalizer_.push(values)) return false;
  members_.push_back(member);
  return true;
}

void Reduced::push_target(const double* values, double rounding_norm) {
  double* residual = residuals_[pushed_];
  std::copy_n(values, residuals_.stride(), residual);
  rounding_norms_(pushed_) = rounding_norm;
  orthogonalizer_.project(residual, inside_.col(pushed_).data());
  ++pushed_;
}

void Reduced::finish() {
  for (Index j = 0; j < n_columns(); ++j) {
    double* out = columns_[j];
    std::fill_n(out, columns_.stride(), 0.0);
    std::copy_n(r().col(j).data(), j + 1, out);
    norms_(j) = r().col(j).head(j + 1).norm();
  }
  for (Index j = 0; j < pushed_; ++j) {
    double* out = targets_[n_targets()];
    write_target(j, out);
    if (!keep_target(out)) continue;
    rounding_norms_(n_targets()) = rounding_norms_(j);
    target_members_.push_back(static_cast<int>(j));
  }
}

// What the columns leave of the targets adds one coordinate per target.
void Reduced::write_target(Index j, double* out) {
  const Index k = n_columns();
  std::fill_n(out, targets_.stride(), 0.0);
  std::copy_n(inside_.col(j).data(), k, out);
  if (pushed_ == 1) {
    out[k] = Eigen::Map<const Vector>(residuals_[j], residuals_.stride()).norm();
    return;
  }
  const Index before = remainder_.size();
  if (remainder_.push(residuals_[j], 0.0)) {
    std::copy_n(remainder_.r().col(before).data(), before + 1, out + k);
  } else {
    std::copy_n(remainder_.refused(), before, out + k);
  }
}

// A constant target, or one that depends on the others (y^3 = y where y is -1 or 1), would allow a
// law without x.
bool Reduced::keep_target(const double* target) {
  const double full = Eigen::Map<const Vector>(target, targets_.stride()).norm();
  double* centred = centred_[0];
  std::copy_n(target + 1, centred_.stride() - 1, centred);
  centred[centred_.stride() - 1] = 0.0;
  const double spread = Eigen::Map<const Vector>(centred, centred_.stride()).norm();
  return std::isfinite(full) && spread > kDependent * full &&
         target_space_.push(centred, kDependent);
}

void SubsetFit::resize(Index max_dimension, Index max_columns, Index max_targets) {
  orthogonalizer_.reset(max_dimension, max_columns);
  rest_.resize(max_dimension, max_targets);
  inside_.setZero(max_columns, max_targets);
  for (Vector* v : {&alpha_, &combined_, &cost_, &unit_errors_}) v->setZero(max_columns);
  beta_.setZero(max_targets);
}

void SubsetFit::solve(const Reduced& problem, const std::vector<Index>& subset) {
  orthogonalizer_.reset(rest_.n_rows(), 0);
  for (const Index j : subset) orthogonalizer_.push(problem.columns()[j], 0.0);
  for (Index k = 0; k < problem.n_targets(); ++k) {
    std::copy_n(problem.targets()[k], rest_.stride(), rest_[k]);
    orthogonalizer_.project(rest_[k], inside_.col(k).data());
  }
  choose_beta(problem);
  const Index n = orthogonalizer_.size();
  const Index p = problem.n_targets();
  combined_.head(n).noalias() = inside_.topLeftCorner(n, p) * beta_.head(p);
  orthogonalizer_.solve(combined_.data(), alpha_.data());
}

// beta = argmin ||rest beta|| subject to ||Y_c beta|| = 1.
void SubsetFit::choose_beta(const Reduced& problem) {
  const Index p = problem.n_targets();
  if (p == 1) {
    beta_(0) = 1.0 / problem.whitening()(0, 0);
    error_ = column(rest_, 0, rest_.stride()).norm() * beta_(0);
    return;
  }
  block_.resize(rest_.stride(), p);
  for (Index k = 0; k < p; ++k) block_.col(k) = column(rest_, k, rest_.stride());
  const Matrix whitening = problem.whitening();
  const auto triangle = whitening.triangularView<Eigen::Upper>();
  const Matrix whitened = triangle.solve<Eigen::OnTheRight>(block_);
  const Eigen::JacobiSVD<Matrix> svd(whitened, Eigen::ComputeThinU | Eigen::ComputeThinV);
  beta_.head(p) = triangle.solve(svd.matrixV().col(p - 1));
  error_ = svd.singularValues()(p - 1);
}

const Vector& SubsetFit::unit_errors() {
  orthogonalizer_.inverse_row_norms(unit_errors_.data());
  return unit_errors_;
}

const Vector& SubsetFit::removal_cost() {
  const Vector& errors = unit_errors();
  for (Index j = 0; j < orthogonalizer_.size(); ++j) {
    const double ratio = alpha_(j) / errors(j);
    cost_(j) = ratio * ratio;
  }
  return cost_;
}

double SubsetFit::rounding_ratio(const Reduced& problem, const std::vector<Index>& subset) const {
  double target = 0.0;
  for (Index k = 0; k < problem.n_targets(); ++k)
    target += std::abs(beta_(k)) * problem.rounding_norm(k);
  double terms = 0.0;
  for (std::size_t i = 0; i < subset.size(); ++i)
    terms += std::abs(alpha_(static_cast<Index>(i))) * problem.column_norm(subset[i]);
  const double scale = target + std::min(terms, kCancellation * target);
  return error_ / (std::numeric_limits<double>::epsilon() * scale);
}

}  // namespace gsr

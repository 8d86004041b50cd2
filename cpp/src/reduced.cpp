#include "gsr/reduced.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gsr {
namespace {

// Terms that are this much larger than the target and cancel are an accident, not a law.
constexpr double kCancellation = 30.0;

using ColumnMap = Eigen::Map<const Vector>;

ColumnMap column(const Columns& columns, Index j, Index n) { return ColumnMap(columns[j], n); }

}  // namespace

void Reduced::reset(Index n_rows, Index max_columns, Index max_targets) {
  if (n_rows_ != n_rows || columns_.n_columns() < max_columns || max_targets_ != max_targets) {
    n_rows_ = n_rows;
    max_targets_ = max_targets;
    columns_.resize(max_columns + max_targets, max_columns);
    targets_.resize(max_columns + max_targets, max_targets);
    residuals_.resize(n_rows, max_targets);
    inside_.setZero(max_columns, max_targets);
    whitening_.setZero(max_targets, max_targets);
    norms_.setZero(max_columns);
    rounding_norms_.setZero(max_targets);
    members_.reserve(static_cast<std::size_t>(max_columns));
  }
  orthogonalizer_.reset(n_rows, max_columns);
  remainder_.reset(n_rows, max_targets);
  members_.clear();
  n_targets_ = 0;
}

bool Reduced::push_column(const double* values, int member) {
  if (!orthogonalizer_.push(values)) return false;
  members_.push_back(member);
  return true;
}

void Reduced::push_target(const double* values, double rounding_norm) {
  double* residual = residuals_[n_targets_];
  std::copy_n(values, residuals_.stride(), residual);
  rounding_norms_(n_targets_) = rounding_norm;
  orthogonalizer_.project(residual, inside_.col(n_targets_).data());
  ++n_targets_;
}

void Reduced::finish() {
  const Index k = n_columns();
  for (Index j = 0; j < k; ++j) {
    double* out = columns_[j];
    std::fill_n(out, columns_.stride(), 0.0);
    std::copy_n(r().col(j).data(), j + 1, out);
    norms_(j) = r().col(j).head(j + 1).norm();
  }
  complete_targets();
  whiten();
}

// What the columns leave of the targets adds one coordinate per target.
void Reduced::complete_targets() {
  const Index k = n_columns();
  for (Index j = 0; j < n_targets_; ++j) {
    double* out = targets_[j];
    std::fill_n(out, targets_.stride(), 0.0);
    std::copy_n(inside_.col(j).data(), k, out);
  }
  if (n_targets_ == 1) {
    targets_[0][k] = Eigen::Map<const Vector>(residuals_[0], residuals_.stride()).norm();
    return;
  }
  for (Index j = 0; j < n_targets_; ++j) {
    const Index before = remainder_.size();
    if (remainder_.push(residuals_[j], 0.0))
      std::copy_n(remainder_.r().col(before).data(), before + 1, targets_[j] + k);
  }
}

void Reduced::whiten() {
  // Cholesky-free: Gram-Schmidt on the centred targets, p of them.
  const Index d = dimension();
  whitening_.setZero();
  for (Index j = 0; j < n_targets_; ++j) {
    whitening_(j, j) = column(targets_, j, d).tail(d - 1).norm();
  }
  if (n_targets_ == 1) return;
  Matrix y(d - 1, n_targets_);
  for (Index j = 0; j < n_targets_; ++j) y.col(j) = column(targets_, j, d).tail(d - 1);
  whitening_ = Eigen::HouseholderQR<Matrix>(y).matrixQR().topRows(n_targets_).triangularView<Eigen::Upper>();
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
  combined_.head(n).noalias() = inside_.topRows(n) * beta_;
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
  const auto whitening = problem.whitening().triangularView<Eigen::Upper>();
  const Matrix whitened = whitening.solve<Eigen::OnTheRight>(block_);
  const Eigen::JacobiSVD<Matrix> svd(whitened, Eigen::ComputeThinU | Eigen::ComputeThinV);
  beta_ = whitening.solve(svd.matrixV().col(p - 1));
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

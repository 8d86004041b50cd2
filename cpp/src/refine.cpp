#include "gsr/refine.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gsr/interrupt.hpp"
#include "small_blas.hpp"

namespace gsr {
namespace {

constexpr Index kMostColumns = 64;
constexpr Index kMostDirections = 128;  // of free columns, terms and constants together
constexpr double kStep = 1e-5;          // of a central difference, relative to the weight
// A full step that would remove less than this share of the squared residual is not worth taking.
constexpr double kConverged = 1e-9;
constexpr int kAttempts = 8;  // with more and more damping
constexpr double kAtRounding = 1e-15;
constexpr double kDistinctFree = 1e-8;
// A weight that runs away says that a simpler function fits as well.
constexpr double kRunaway = 1e4;

bool runs_away(const std::vector<Basis>& from, const std::vector<Basis>& to) {
  for (Index j = 0; j < ssize(from); ++j)
    for (Index k = 0; k < from[j].n_weights(); ++k)
      if (std::abs(to[j].weights[k]) > kRunaway * (1.0 + std::abs(from[j].weights[k]))) return true;
  return false;
}

}  // namespace

Refiner::Refiner(const Dataset& x, const Table& table, Buffer row_weights)
    : x_(x),
      row_weights_(std::move(row_weights)),
      evaluator_(x, table, std::size_t{1} << 20),
      gradient_(x, table) {
  columns_.resize(x.n_rows(), kMostColumns);
  for (Buffer* buffer : {&rest_, &up_, &down_}) buffer->assign(x.features.stride(), 0.0);
  inside_.setZero(kMostDirections);
  alpha_.setZero(kMostDirections);
  set_free({});
}

void Refiner::set_free(const Columns& columns) {
  Buffer column(rest_.size(), 0.0);
  qr_.reset(x_.n_rows(), kMostDirections);
  std::fill_n(column.begin(), x_.n_rows(), 1.0);
  weigh(column.data());
  qr_.push(column.data(), 0.0);
  for (Index j = 0; j < columns.n_columns() && qr_.size() < kMostColumns; ++j) {
    std::copy_n(columns[j], column.size(), column.begin());
    weigh(column.data());
    qr_.push(column.data(), kDistinctFree);
  }
  n_free_ = qr_.size();
}

void Refiner::weigh(double* column) const {
  for (std::size_t i = 0; i < row_weights_.size(); ++i) column[i] *= row_weights_[i];
}

double Refiner::residual(const double* target, const std::vector<Basis>& bases) {
  const double bad = std::numeric_limits<double>::infinity();
  if (ssize(bases) > kMostColumns) return bad;
  qr_.truncate(n_free_);
  for (Index j = 0; j < ssize(bases); ++j) {
    double* column = columns_[j];
    ++n_evaluated_;
    if (!evaluator_.evaluate(bases[j], column)) return bad;
    weigh(column);
    if (!qr_.push(column, distinct_)) return bad;
  }
  std::copy_n(target, rest_.size(), rest_.begin());
  weigh(rest_.data());
  size_ = std::sqrt(small_blas::dot(rest_.data(), rest_.data(), columns_.stride()));
  qr_.project(rest_.data(), inside_.data());
  qr_.solve(inside_.data(), alpha_.data());
  return std::sqrt(small_blas::dot(rest_.data(), rest_.data(), columns_.stride()));
}

double Refiner::term_norm(Index term) const {
  const double* column = columns_[term];
  return std::sqrt(small_blas::dot(column, column, columns_.stride()));
}

void Refiner::project_free(double* column) {
  qr_.truncate(n_free_);
  qr_.project(column, inside_.data());
}

std::vector<double> Refiner::losses(Index n_terms) {
  Vector norms(qr_.size());
  qr_.inverse_row_norms(norms.data());
  std::vector<double> out;
  for (Index k = 0; k < n_terms; ++k) out.push_back(std::abs(coefficient(k)) / norms(n_free_ + k));
  return out;
}

void Refiner::differentiate(const Basis& basis) {
  n_evaluated_ += 2;
  if (gradient_.covers(basis)) {
    gradient_.evaluate(basis, derivatives_);
  } else {
    differentiate_by_steps(basis);
  }
  for (Index k = 0; k < derivatives_.n_columns(); ++k) weigh(derivatives_[k]);
}

// For transformations that bring no derivative.
void Refiner::differentiate_by_steps(const Basis& basis) {
  derivatives_.resize(x_.n_rows(), basis.n_weights());
  Basis moved = basis;
  for (Index k = 0; k < derivatives_.n_columns(); ++k) {
    double& weight = moved.weights[k];
    const double w = weight;
    const double h = kStep * std::max(std::abs(w), 1e-3);
    weight = w + h;
    const bool up = evaluator_.evaluate(moved, up_.data());
    weight = w - h;
    const bool down = evaluator_.evaluate(moved, down_.data());
    weight = w;
    double* out = derivatives_[k];
    for (std::size_t i = 0; i < up_.size() && up && down; ++i)
      out[i] = (up_[i] - down_[i]) / (2.0 * h);
  }
}

// Column k is how the model changes when weight k moves.
void Refiner::fill_jacobian(const std::vector<Basis>& bases, const std::vector<Weight>& free) {
  jacobian_.resize(x_.n_rows(), ssize(free));
  for (Index k = 0; k < ssize(free); ++k) {
    if (k == 0 || free[k].basis != free[k - 1].basis) differentiate(bases[free[k].basis]);
    const double alpha = coefficient(free[k].basis);
    const double* derivative = derivatives_[free[k].place];
    double* out = jacobian_[k];
    for (Index i = 0; i < jacobian_.stride(); ++i) out[i] = alpha * derivative[i];
  }
}

std::vector<Refiner::Weight> Refiner::free_weights(const std::vector<Basis>& bases) {
  std::vector<Weight> free;
  for (Index j = 0; j < ssize(bases); ++j)
    for (Index k = 0; k < bases[j].n_weights(); ++k)
      if (bases[j].weights[k] != 1.0) free.push_back({j, k});
  return free;
}

double Refiner::linearise(const double* target, const std::vector<Basis>& bases) {
  const double error = residual(target, bases);
  if (!std::isfinite(error)) return error;
  fill_jacobian(bases, free_weights(bases));
  for (Index k = 0; k < jacobian_.n_columns() && qr_.size() < kMostDirections; ++k)
    qr_.push(jacobian_[k], distinct_);
  return error;
}

double Refiner::improve(const double* target, std::vector<Basis>& bases, int steps) {
  const std::vector<Weight> free = free_weights(bases);
  const double size = spread(target);
  double error = residual(target, bases);
  if (free.empty() || !std::isfinite(error)) return error / size;
  double damping = 1e-3;
  for (int step = 0; step < steps && error > kAtRounding * size_; ++step) {
    stop_if_asked();
    fill_jacobian(bases, free);
    for (Index k = 0; k < jacobian_.n_columns(); ++k) qr_.project(jacobian_[k], inside_.data());
    const Eigen::Map<const Matrix> j(jacobian_[0], jacobian_.stride(), jacobian_.n_columns());
    const Vector gradient = j.transpose() * Eigen::Map<const Vector>(rest_.data(), j.rows());
    const Matrix gram = j.transpose() * j;
    const auto move_with = [&](double by) -> Vector {
      Matrix damped = gram;
      damped.diagonal() *= 1.0 + by;
      damped.diagonal().array() += 1e-300;
      return damped.ldlt().solve(gradient);
    };
    if (gradient.dot(move_with(1e-12)) < kConverged * error * error) break;
    bool better = false;
    for (int attempt = 0; attempt < kAttempts && !better; ++attempt) {
      const Vector move = move_with(damping);
      std::vector<Basis> moved = bases;
      for (Index k = 0; k < ssize(free); ++k)
        moved[free[k].basis].weights[free[k].place] += move(k);
      const double after = move.allFinite() && !runs_away(bases, moved)
                               ? residual(target, moved)
                               : std::numeric_limits<double>::infinity();
      better = after < error;
      damping = better ? std::max(damping * 0.1, 1e-12) : damping * 10.0;
      if (!better) continue;
      error = after;
      bases = std::move(moved);
    }
    if (!better) break;
  }
  return error / size;
}

}  // namespace gsr

#include "gsr/refine.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "small_blas.hpp"

namespace gsr {
namespace {

constexpr Index kMostColumns = 32;
constexpr double kStep = 1e-5;  // of a central difference, relative to the weight
constexpr double kSmallestGain = 1e-3;
constexpr double kAtRounding = 1e-15;
// Columns that are nearly the same would share a term between them with huge coefficients.
constexpr double kDistinct = 1e-6;
// A weight that runs away says that a simpler function fits as well.
constexpr double kRunaway = 1e4;

bool runs_away(const std::vector<Basis>& from, const std::vector<Basis>& to) {
  for (std::size_t j = 0; j < from.size(); ++j)
    for (std::size_t k = 0; k < static_cast<std::size_t>(from[j].n_weights()); ++k)
      if (std::abs(to[j].weights[k]) > kRunaway * (1.0 + std::abs(from[j].weights[k]))) return true;
  return false;
}

}  // namespace

Refiner::Refiner(const Dataset& x, const Table& table, Buffer row_weights)
    : x_(x), row_weights_(std::move(row_weights)), evaluator_(x, table, std::size_t{1} << 20) {
  columns_.resize(x.n_rows(), kMostColumns + 1);
  std::fill_n(columns_[kMostColumns], x.n_rows(), 1.0);
  weigh(columns_[kMostColumns]);
  const auto stride = static_cast<std::size_t>(x.features.stride());
  for (Buffer* buffer : {&rest_, &up_, &down_}) buffer->assign(stride, 0.0);
  inside_.setZero(kMostColumns + 1);
  alpha_.setZero(kMostColumns + 1);
}

void Refiner::weigh(double* column) const {
  for (std::size_t i = 0; i < row_weights_.size(); ++i) column[i] *= row_weights_[i];
}

double Refiner::residual(const double* target, const std::vector<Basis>& bases) {
  const double bad = std::numeric_limits<double>::infinity();
  if (static_cast<Index>(bases.size()) > kMostColumns) return bad;
  qr_.reset(x_.n_rows(), kMostColumns + 1);
  qr_.push(columns_[kMostColumns], 0.0);
  for (std::size_t j = 0; j < bases.size(); ++j) {
    double* column = columns_[static_cast<Index>(j)];
    if (!evaluator_.evaluate(bases[j], column)) return bad;
    weigh(column);
    if (!qr_.push(column, kDistinct)) return bad;
  }
  std::copy_n(target, rest_.size(), rest_.begin());
  weigh(rest_.data());
  qr_.project(rest_.data(), inside_.data());
  qr_.solve(inside_.data(), alpha_.data());
  return std::sqrt(small_blas::dot(rest_.data(), rest_.data(), columns_.stride()));
}

bool Refiner::derivative(const Basis& basis, std::size_t place, double* out) {
  Basis moved = basis;
  const double w = basis.weights[place];
  const double h = kStep * std::max(std::abs(w), 1e-3);
  moved.weights[place] = w + h;
  if (!evaluator_.evaluate(moved, up_.data())) return false;
  moved.weights[place] = w - h;
  if (!evaluator_.evaluate(moved, down_.data())) return false;
  for (std::size_t i = 0; i < up_.size(); ++i) out[i] = (up_[i] - down_[i]) / (2.0 * h);
  weigh(out);
  return true;
}

// Column k is what the model changes outside the span of its columns when weight k moves.
void Refiner::fill_jacobian(const std::vector<Basis>& bases, const std::vector<Weight>& free) {
  jacobian_.resize(x_.n_rows(), static_cast<Index>(free.size()));
  for (std::size_t k = 0; k < free.size(); ++k) {
    double* out = jacobian_[static_cast<Index>(k)];
    if (!derivative(bases[free[k].basis], free[k].place, out)) {
      std::fill_n(out, jacobian_.stride(), 0.0);
      continue;
    }
    const double alpha = alpha_(static_cast<Index>(free[k].basis) + 1);
    for (Index i = 0; i < jacobian_.stride(); ++i) out[i] *= alpha;
    qr_.project(out, inside_.data());
  }
}

double Refiner::improve(const double* target, std::vector<Basis>& bases, int steps) {
  std::vector<Weight> free;
  for (std::size_t j = 0; j < bases.size(); ++j)
    for (std::size_t k = 0; k < static_cast<std::size_t>(bases[j].n_weights()); ++k)
      if (bases[j].weights[k] != 1.0) free.push_back({j, k});
  const double size = residual(target, {});  // beside the constant alone
  double error = residual(target, bases);
  if (free.empty() || !std::isfinite(error)) return error / size;
  double damping = 1e-3;
  int stalled = 0;
  for (int step = 0; step < steps && error > kAtRounding * size && stalled < 3; ++step) {
    fill_jacobian(bases, free);
    const Eigen::Map<const Matrix> j(jacobian_[0], jacobian_.stride(), jacobian_.n_columns());
    const Vector gradient = j.transpose() * Eigen::Map<const Vector>(rest_.data(), j.rows());
    const Matrix gram = j.transpose() * j;
    bool better = false;
    for (int attempt = 0; attempt < 8 && !better; ++attempt) {
      Matrix damped = gram;
      damped.diagonal() *= 1.0 + damping;
      damped.diagonal().array() += 1e-300;
      const Vector move = damped.ldlt().solve(gradient);
      std::vector<Basis> moved = bases;
      for (std::size_t k = 0; k < free.size(); ++k)
        moved[free[k].basis].weights[free[k].place] += move(static_cast<Index>(k));
      const double after = move.allFinite() && !runs_away(bases, moved)
                               ? residual(target, moved)
                               : std::numeric_limits<double>::infinity();
      better = after < error;
      damping = better ? std::max(damping * 0.1, 1e-12) : damping * 10.0;
      if (!better) continue;
      stalled = after > (1.0 - kSmallestGain) * error ? stalled + 1 : 0;
      error = after;
      bases = std::move(moved);
    }
    if (!better) break;
    residual(target, bases);
  }
  return error / size;
}

}  // namespace gsr

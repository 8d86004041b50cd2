#include "gsr/law_fit.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gsr {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kDifference = 6e-6;  // step of a central difference, relative to the constant
constexpr double kFirstDamping = 1e-3;
constexpr double kLeastDamping = 1e-12;
constexpr double kMostDamping = 1e8;
// A step that would gain less than this part of the squared error ends the fit.
constexpr double kSmallestGain = 1e-9;
// Slopes dy/df, times the roots of the rows' weights, above this multiple of their median are lowered
// to it: no row rules the others.
constexpr double kSteepest = 1e3;

// The damped step for R = [J, r] in QR coordinates; constants that are not free stay.
Vector damped_step(const Matrix& r, double damping, const std::vector<bool>& free) {
  const Index k = r.cols() - 1;
  std::vector<Index> moving;
  for (Index j = 0; j < k; ++j)
    if (free.empty() || free[j]) moving.push_back(j);
  const auto m = ssize(moving);
  Matrix stacked = Matrix::Zero(r.rows() + m, m);
  Vector target = Vector::Zero(r.rows() + m);
  Vector norms(m);
  for (Index j = 0; j < m; ++j) {
    const auto column = r.col(moving[j]);
    norms(j) = column.norm() > 0.0 ? column.norm() : 1.0;
    stacked.col(j).head(r.rows()) = column / norms(j);
    stacked(r.rows() + j, j) = std::sqrt(damping);
  }
  target.head(r.rows()) = r.col(k);
  Eigen::ColPivHouseholderQR<Matrix> qr(stacked);
  qr.setThreshold(1e-14);
  const Vector scaled = qr.solve(target);
  Vector step = Vector::Zero(k);
  for (Index j = 0; j < m; ++j) step(moving[j]) = scaled(j) / norms(j);
  return step;
}

// The part of the squared error that a full step would remove, were the law linear.
double gain(const Matrix& r, const std::vector<bool>& free) {
  const Index k = r.cols() - 1;
  const double total = r.col(k).squaredNorm();
  if (!(total > 0.0)) return 0.0;
  const Vector left = r.col(k) - r.leftCols(k) * damped_step(r, 0.0, free);
  return (total - left.squaredNorm()) / total;
}

}  // namespace

LawFit::LawFit(const Dataset& x, const Dataset& y, const Table& table, const Table& target_table,
               const Buffer& row_weights)
    : x_(x),
      y_(y),
      scale_(y, target_table, false, row_weights),
      row_weights_(row_weights),
      evaluator_(x, table, std::size_t{1} << 20) {
  const auto stride = static_cast<std::size_t>(x.features.stride());
  for (Buffer* buffer : {&f_, &solution_, &slope_, &residual_, &up_, &down_})
    buffer->assign(stride, 0.0);
}

bool LawFit::supports(const Law& law) {
  return law.psi.size() == 1 && law.psi[0].n_weights() == 0 && scale_.has_inverse(law.psi[0]);
}

std::vector<LawFit::Place> LawFit::inner_constants(const Law& law) {
  std::vector<Place> found;
  for (std::size_t j = 0; j < law.phi.size(); ++j)
    for (std::size_t k = 0; k < static_cast<std::size_t>(law.phi[j].n_weights()); ++k)
      if (law.phi[j].weights[k] != 0.0 && law.phi[j].weights[k] != 1.0) found.push_back({j, k});
  return found;
}

// A constant of exactly 0 or 1 would be none.
void LawFit::move(Law& law, const std::vector<Place>& inner, const Vector& step) {
  for (std::size_t j = 0; j < law.alpha.size(); ++j) law.alpha[j] += step(static_cast<Index>(j));
  for (std::size_t k = 0; k < inner.size(); ++k) {
    double& weight = law.phi[inner[k].term].weights[inner[k].weight];
    weight += step(static_cast<Index>(law.alpha.size() + k));
    if (weight == 1.0) weight = std::nextafter(1.0, 2.0);
    if (weight == 0.0) weight = std::numeric_limits<double>::min();
  }
}

double LawFit::squared_error(const Law& law) {
  const Index n = x_.n_rows();
  columns_.resize(n, ssize(law.phi));
  std::fill(f_.begin(), f_.end(), 0.0);
  for (std::size_t j = 0; j < law.phi.size(); ++j) {
    double* column = columns_[j];
    if (!evaluator_.evaluate(law.phi[j], column)) return kInfinite;
    for (std::size_t i = 0; i < f_.size(); ++i) f_[i] += law.alpha[j] * column[i];
  }
  scale_.solve(law.psi[0], f_.data(), solution_.data(), slope_.data());
  double total = 0.0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double root = row_weights_.empty() ? 1.0 : row_weights_[i];
    residual_[i] = root * (y_.features[0][i] - solution_[i]);
    total += residual_[i] * residual_[i];
  }
  return std::isfinite(total) ? total : kInfinite;
}

void LawFit::bound_slopes() {
  const auto n = static_cast<std::size_t>(x_.n_rows());
  std::vector<double> sizes(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(slope_[i])) slope_[i] = 0.0;
    sizes[i] = std::abs(slope_[i]);
  }
  bound_sizes(sizes, row_weights_, kSteepest);
  for (std::size_t i = 0; i < n; ++i) slope_[i] = std::copysign(sizes[i], slope_[i]);
}

void LawFit::fill_inner_derivative(const Basis& basis, const Place& place, double alpha,
                                   double* out) {
  Basis moved = basis;
  const double weight = basis.weights[place.weight];
  const double step = kDifference * std::abs(weight);
  moved.weights[place.weight] = weight + step;
  const bool above = evaluator_.evaluate(moved, up_.data());
  moved.weights[place.weight] = weight - step;
  const bool below = evaluator_.evaluate(moved, down_.data());
  for (Index i = 0; i < x_.n_rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    out[i] = above && below ? alpha * (up_[at] - down_[at]) / (2.0 * step) : 0.0;
  }
}

// Around the law whose squared error was computed last.
void LawFit::fill_jacobian(const Law& law, const std::vector<Place>& inner) {
  const Index n = x_.n_rows();
  const auto k = ssize(law.alpha);
  bound_slopes();
  jacobian_.resize(n, k + ssize(inner) + 1);
  for (Index j = 0; j < k; ++j) jacobian_.col(j) = Eigen::Map<const Vector>(columns_[j], n);
  for (std::size_t j = 0; j < inner.size(); ++j)
    fill_inner_derivative(law.phi[inner[j].term], inner[j], law.alpha[inner[j].term],
                          jacobian_.col(k + static_cast<Index>(j)).data());
  Eigen::Map<const Vector> slopes(slope_.data(), n);
  jacobian_.leftCols(jacobian_.cols() - 1).array().colwise() *= slopes.array();
  if (!row_weights_.empty())
    jacobian_.leftCols(jacobian_.cols() - 1).array().colwise() *=
        Eigen::Map<const Vector>(row_weights_.data(), n).array();
  jacobian_.col(jacobian_.cols() - 1) = Eigen::Map<const Vector>(residual_.data(), n);
  for (Index j = 0; j + 1 < jacobian_.cols(); ++j)
    if (!jacobian_.col(j).allFinite()) jacobian_.col(j).setZero();
}

Matrix LawFit::triangle() {
  const Index size = std::min(jacobian_.rows(), jacobian_.cols());
  const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(jacobian_);
  return qr.matrixQR().topRows(size).triangularView<Eigen::Upper>();
}

Matrix LawFit::linearise(const Law& law) {
  if (!std::isfinite(squared_error(law))) return {};
  fill_jacobian(law, inner_constants(law));
  return triangle();
}

void LawFit::refine(Law& law, int steps, const std::vector<bool>& free) {
  const std::vector<Place> inner = inner_constants(law);
  double error = squared_error(law);
  double damping = inner.empty() && scale_.is_identity(law.psi[0]) ? 0.0 : kFirstDamping;
  const bool any = free.empty() || std::find(free.begin(), free.end(), true) != free.end();
  Matrix r;
  bool moved = true;
  for (int step = 0; step < steps && any && std::isfinite(error) && error > 0.0; ++step) {
    if (moved) {
      fill_jacobian(law, inner);
      r = triangle();
      if (!r.allFinite() || gain(r, free) < kSmallestGain) break;
    }
    Law next = law;
    move(next, inner, damped_step(r, damping, free));
    const double after = squared_error(next);
    moved = after < error;
    if (moved) {
      law = std::move(next);
      error = after;
      damping = damping < kLeastDamping ? 0.0 : 0.1 * damping;
    } else if (damping > kMostDamping) {
      break;
    } else {
      damping = std::max(10.0 * damping, kFirstDamping);
    }
  }
  law.rmse = std::sqrt(error / static_cast<double>(x_.n_rows()));
  if (!std::isfinite(error)) return;
  squared_error(law);  // f of the law itself, not of the last step
  law.transformed_error = scale_.transformed_error(law.psi[0], f_.data());
}

}  // namespace gsr

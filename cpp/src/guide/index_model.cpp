#include "index_model.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "gsr/interrupt.hpp"
#include "gsr/random.hpp"
#include "tuning.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;
using Array = Eigen::ArrayXd;

// An index on (-1, 1): most rows are spread out, far ones pushed together.
struct Squeezed {
  Array value, slope;

  explicit Squeezed(const Vector& index) {
    std::vector<double> sorted(index.begin(), index.end());
    const auto middle = sorted.begin() + ssize(sorted) / 2;
    std::nth_element(sorted.begin(), middle, sorted.end());
    const double median = *middle;
    for (double& v : sorted) v = std::abs(v - median);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const double width = std::max(kIndexWidth * *middle, 1e-12);
    const Array u = (index.array() - median) / width;
    const Array r = (1.0 + u.square()).sqrt();
    value = u / r;
    slope = 1.0 / (r.cube() * width);
  }
};

// T_0 .. T_degree and their derivatives, a column each.
struct Chebyshev {
  Matrix value, slope;

  Chebyshev(const Squeezed& t, int degree)
      : value(t.value.size(), degree + 1), slope(t.value.size(), degree + 1) {
    value.col(0).setOnes();
    slope.col(0).setZero();
    value.col(1) = t.value;
    slope.col(1).setOnes();
    for (int k = 2; k <= degree; ++k) {
      value.col(k) = 2.0 * t.value * value.col(k - 1).array() - value.col(k - 2).array();
      slope.col(k) = 2.0 * value.col(k - 1).array() + 2.0 * t.value * slope.col(k - 1).array() -
                     slope.col(k - 2).array();
    }
    for (int k = 0; k <= degree; ++k) slope.col(k).array() *= t.slope;
  }
};

// All products up to a total degree, of one index or two; `by` are their derivatives.
struct Products {
  Matrix value;
  std::vector<Matrix> by;

  explicit Products(const std::vector<Chebyshev>& t) : by(t.size()) {
    const Index n = t[0].value.rows(), degree = t[0].value.cols() - 1;
    const Index n_columns = t.size() == 1 ? degree + 1 : (degree + 1) * (degree + 2) / 2;
    value.resize(n, n_columns);
    for (Matrix& slopes : by) slopes.resize(n, n_columns);
    Index column = 0;
    for (Index a = 0; a <= degree; ++a)
      for (Index b = 0; b <= (t.size() == 1 ? 0 : degree - a); ++b, ++column) {
        if (t.size() == 1) {
          value.col(column) = t[0].value.col(a);
          by[0].col(column) = t[0].slope.col(a);
        } else {
          value.col(column) = t[0].value.col(a).cwiseProduct(t[1].value.col(b));
          by[0].col(column) = t[0].slope.col(a).cwiseProduct(t[1].value.col(b));
          by[1].col(column) = t[0].value.col(a).cwiseProduct(t[1].slope.col(b));
        }
      }
  }
};

Matrix normalised(Matrix directions) {
  directions.colwise().normalize();
  return directions;
}

}  // namespace

// The residual of the best model for some directions, and how it changes with these: the normal
// equations of a Gauss-Newton step.
struct IndexModel::Step {
  double squares = 1.0;
  Matrix normal;
  Vector gradient, linear;
};

IndexModel::IndexModel(Matrix z, Vector target, bool linear)
    : z_(std::move(z)), target_(std::move(target)), linear_(linear) {
  const double n = static_cast<double>(z_.rows());
  scale_ = (z_.colwise().squaredNorm() / n).cwiseSqrt().transpose();
  z_ = z_ * scale_.cwiseInverse().asDiagonal();
  target_.array() -= target_.mean();
  size_ = std::max(target_.norm(), std::numeric_limits<double>::min());
  target_ /= size_;
  fit_quadratic();
}

void IndexModel::fit_quadratic() {
  const Index n = z_.rows(), d = z_.cols();
  Matrix columns(n, 1 + d + d * (d + 1) / 2);
  columns.col(0).setOnes();
  columns.middleCols(1, d) = z_;
  Index k = 1 + d;
  for (Index i = 0; i < d; ++i)
    for (Index j = i; j < d; ++j) columns.col(k++) = z_.col(i).cwiseProduct(z_.col(j));
  const Vector c = columns.colPivHouseholderQr().solve(target_);
  const double freedom = static_cast<double>(n) / static_cast<double>(n - columns.cols());
  left_by_quadratic_ = (target_ - columns * c).squaredNorm() * freedom;
  Matrix hessian = Matrix::Zero(d, d);
  k = 1 + d;
  for (Index i = 0; i < d; ++i)
    for (Index j = i; j < d; ++j, ++k) {
      hessian(i, j) += c(k);
      hessian(j, i) += c(k);
    }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(hessian);
  std::vector<Index> order(static_cast<std::size_t>(d));
  std::iota(order.begin(), order.end(), Index{0});
  const Vector size = eigen.eigenvalues().cwiseAbs();
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
  curvature_.resize(d, d);
  for (Index j = 0; j < d; ++j) curvature_.col(j) = eigen.eigenvectors().col(order[j]);
}

// By the Gram matrix of the model's columns: directions are rounded in the end, so what that loses
// in precision does not matter.
IndexModel::Step IndexModel::evaluate(const Matrix& directions) const {
  stop_if_asked();
  const Index n = z_.rows(), d = z_.cols(), q = directions.cols();
  std::vector<Chebyshev> indices;
  for (Index j = 0; j < q; ++j)
    indices.emplace_back(Squeezed(z_ * directions.col(j)), q == 1 ? kIndexDegree : kIndicesDegree);
  const Products products(indices);
  const Index n_products = products.value.cols();
  Matrix columns(n, n_products + (linear_ ? d : 0));
  columns.leftCols(n_products) = products.value;
  if (linear_) columns.rightCols(d) = z_;
  Matrix gram = columns.transpose() * columns;
  gram.diagonal() *= 1.0 + kIndexRidge;
  const Eigen::LDLT<Matrix> factors(gram);
  const Vector c = factors.solve(columns.transpose() * target_);
  const Vector rest = target_ - columns * c;
  Matrix change(n, d * q);
  for (Index j = 0; j < q; ++j)
    change.middleCols(j * d, d) = (products.by[j] * c.head(n_products)).asDiagonal() * z_;
  const Matrix shared = columns.transpose() * change;
  return {rest.squaredNorm(),
          change.transpose() * change - shared.transpose() * factors.solve(shared),
          change.transpose() * rest, linear_ ? Vector(c.tail(d)) : Vector::Zero(d)};
}

// Levenberg-Marquardt by variable projection, with Kaufman's approximation of the Jacobian.
void IndexModel::improve(Matrix& directions, Step& step, int n_steps) const {
  double damping = kIndexDamping;
  for (int iteration = 0; iteration < n_steps; ++iteration) {
    const double before = step.squares;
    const Vector diagonal = step.normal.diagonal().cwiseMax(kIndexRidge * step.normal.trace());
    bool better = false;
    for (int attempt = 0; attempt < kIndexAttempts && !better; ++attempt, damping *= 5.0) {
      Matrix damped = step.normal;
      damped.diagonal() += damping * diagonal;
      const Vector change = damped.ldlt().solve(step.gradient);
      const Matrix next = normalised(
          directions + Eigen::Map<const Matrix>(change.data(), z_.cols(), directions.cols()));
      if (!next.allFinite()) return;
      Step trial = evaluate(next);
      better = trial.squares < before;
      if (!better) continue;
      directions = next;
      step = std::move(trial);
    }
    damping = std::max(damping / 40.0, 1e-9);
    if (!better || step.squares > before * kIndexConverged) return;
  }
}

IndexModel::Fit IndexModel::fit(Index n_directions) const {
  Matrix best;
  Step of_best;
  Random random(0, kIndexStream, 0);
  for (int start = 0; start < kIndexStarts; ++start) {
    Matrix directions = curvature_.leftCols(n_directions);
    if (start > 0)
      for (double& v : directions.reshaped()) v = 2.0 * random.uniform() - 1.0;
    directions = normalised(directions);
    Step step = evaluate(directions);
    improve(directions, step, kIndexGlance);
    if (start > 0 && !(step.squares < of_best.squares)) continue;
    best = directions;
    of_best = std::move(step);
    if (of_best.squares < kIndexGoodStart) break;
  }
  improve(best, of_best, kIndexSteps);
  return {scale_.cwiseInverse().asDiagonal() * best,
          size_ * scale_.cwiseInverse().asDiagonal() * of_best.linear, of_best.squares};
}

namespace {

// The smallest multiple of a direction that is whole numbers within the tolerance; 0: none.
int whole_multiple(const Vector& direction) {
  for (int m = 1; m <= kMostIndexExponent; ++m) {
    const Vector scaled = m * direction;
    const Vector whole = scaled.array().round();
    if (whole.cwiseAbs().maxCoeff() > kMostIndexExponent) return 0;
    if ((scaled - whole).cwiseAbs().maxCoeff() < kIndexRounding) return m;
  }
  return 0;
}

// The same space with the identity in the rows of the pivots.
std::optional<Exponents> rounded_by(const IndexModel::Fit& fit, const std::vector<Index>& pivots) {
  const Index q = fit.directions.cols();
  const Eigen::FullPivLU<Matrix> lu(fit.directions(pivots, Eigen::all));
  if (!lu.isInvertible()) return std::nullopt;
  const Matrix echelon = fit.directions * lu.inverse();
  if (!echelon.allFinite()) return std::nullopt;
  Exponents out;
  out.directions.resize(echelon.rows(), q);
  Matrix exact = echelon;
  for (Index j = 0; j < q; ++j) {
    const int m = whole_multiple(echelon.col(j));
    if (m == 0) return std::nullopt;
    out.directions.col(j) = (m * echelon.col(j)).array().round().cast<int>();
    exact.col(j) = out.directions.col(j).cast<double>() / m;
  }
  const Vector linear = 2.0 * (fit.linear - exact * fit.linear(pivots));
  if (!(linear.cwiseAbs().maxCoeff() < 2.0 * kMostIndexExponent)) return std::nullopt;
  out.twice_linear = linear.array().round().cast<int>();
  if ((linear - out.twice_linear.cast<double>()).cwiseAbs().maxCoeff() > 2.0 * kIndexRounding)
    return std::nullopt;
  return out;
}

int size_of(const Exponents& exponents) {
  return 2 * exponents.directions.cwiseAbs().sum() + exponents.twice_linear.cwiseAbs().sum();
}

}  // namespace

std::vector<Exponents> rounded(const IndexModel::Fit& fit) {
  const Index d = fit.directions.rows(), q = fit.directions.cols();
  std::vector<Exponents> out;
  const auto add = [&](const std::vector<Index>& pivots) {
    const std::optional<Exponents> found = rounded_by(fit, pivots);
    if (found && std::find(out.begin(), out.end(), *found) == out.end()) out.push_back(*found);
  };
  for (Index i = 0; i < d; ++i) {
    if (q == 1) add({i});
    for (Index j = i + 1; q == 2 && j < d; ++j) add({i, j});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Exponents& a, const Exponents& b) { return size_of(a) < size_of(b); });
  return out;
}

}  // namespace gsr::guide

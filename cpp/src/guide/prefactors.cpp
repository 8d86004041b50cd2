// A feature that enters as a power shows a constant slope of ln|y| in ln|x|: in a quadratic fit its
// linear coefficient is a small number and its other coefficients vanish.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "goals.hpp"
#include "gsr/least_squares.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Centred ln|x| of each feature; no columns if one of them is not finite.
Columns centred_logarithms(const Dataset& x, const std::vector<int>& features) {
  const Index n = x.n_rows();
  Columns out(n, ssize(features));
  for (Index j = 0; j < ssize(features); ++j)
    for (Index i = 0; i < n; ++i) {
      const double v = std::log(std::abs(x.features[features[j] - 1][i]));
      if (!std::isfinite(v)) return {};
      out[j][i] = v;
    }
  for (Index j = 0; j < ssize(features); ++j) {
    Eigen::Map<Vector> column(out[j], n);
    column.array() -= column.mean();
  }
  return out;
}

// Coefficients of 1, u_a and u_a u_b with their standard errors; -1 stands for 1.
struct QuadraticFit {
  std::vector<std::pair<Index, Index>> meaning;
  Vector coefficient, error;
};

QuadraticFit fit_quadratic(const Columns& u, Buffer target) {
  const Index n = u.n_rows(), d = u.n_columns();
  QuadraticFit out;
  Orthogonalizer qr;
  qr.reset(n, 1 + d + d * (d + 1) / 2);
  Buffer column(u.stride(), 0.0);
  const auto push = [&](Index a, Index b) {
    for (Index i = 0; i < n; ++i) column[i] = (a < 0 ? 1.0 : u[a][i]) * (b < 0 ? 1.0 : u[b][i]);
    if (qr.push(column.data(), kPrefactorIndependent)) out.meaning.emplace_back(a, b);
  };
  push(-1, -1);
  for (Index j = 0; j < d; ++j) push(j, -1);
  for (Index j = 0; j < d; ++j)
    for (Index k = j; k < d; ++k) push(j, k);
  Vector projected(qr.size());
  out.coefficient.resize(qr.size());
  out.error.resize(qr.size());
  qr.project(target.data(), projected.data());
  qr.solve(projected.data(), out.coefficient.data());
  qr.inverse_row_norms(out.error.data());
  out.error *= std::sqrt(std::inner_product(target.begin(), target.end(), target.begin(), 0.0) /
                         static_cast<double>(n - qr.size()));
  return out;
}

// The power with which a feature enters, and whether its second-order coefficients vanish; 0: it
// is no power.
std::pair<int, bool> power_of(const QuadraticFit& fit, Index feature) {
  double slope = 0.0, slope_error = 0.0, worst = 0.0;
  for (Index k = 0; k < ssize(fit.meaning); ++k) {
    const auto [a, b] = fit.meaning[k];
    const double sigma = fit.error(k);
    if (a == feature && b < 0) slope = fit.coefficient(k), slope_error = sigma;
    if (b >= 0 && (a == feature || b == feature))
      worst = std::max(worst, std::abs(fit.coefficient(k)) / sigma);
  }
  const auto power = static_cast<int>(std::lround(slope));
  const bool near =
      std::abs(slope - power) < std::max(kPrefactorErrors * slope_error, kLeastSlopeError);
  if (std::abs(power) > kHighestPrefactor || !near || slope_error > kMostSlopeError)
    return {0, false};
  return {power, worst < kPrefactorErrors};
}

}  // namespace

std::vector<Monomial> find_prefactors(const Sample& sample, const Basis& logarithm) {
  const Problem& problem = sample.problem;
  const Rows rows = choose_rows(problem, kPrefactorRows);
  const Index d = ssize(sample.features);
  if (rows.x.n_rows() < 1 + d + d * (d + 1) / 2 + kSparePrefactorRows) return {};
  const Columns u = centred_logarithms(rows.x, sample.features);
  Buffer target = values_of(logarithm, rows.y, problem.target_table);
  if (u.n_columns() != d || target.empty()) return {};
  const QuadraticFit fit = fit_quadratic(u, std::move(target));
  Monomial pure, doubtful;
  for (Index j = 0; j < d; ++j) {
    const auto [power, is_pure] = power_of(fit, j);
    if (power == 0) continue;
    doubtful.emplace_back(sample.features[j], power);
    if (is_pure) pure.emplace_back(sample.features[j], power);
  }
  std::vector<Monomial> out;
  for (const Monomial& found : {pure, doubtful})
    if (!found.empty()) out.push_back(found);
  return out;
}

}  // namespace gsr::guide

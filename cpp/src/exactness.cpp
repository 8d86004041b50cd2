#include "gsr/exactness.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "gsr/evaluate.hpp"

namespace gsr {
namespace {

// Roundings that a row may be off, and the part of the rows that may be off by more.
constexpr double kRowRoundings = 1000.0;
constexpr double kStrayRows = 0.01;
// So many terms may be a series that was broken off where it reached rounding: then the least of
// them hardly stands out of it.
constexpr Index kManyTerms = 5;
constexpr double kStandsOut = 1e5;
// If they have one variable, the ends of its interval, this part of the rows on either side, may be
// off by this many times what rounding in the middle explains.
constexpr double kEnds = 0.1;
constexpr double kEndsOff = 16.0;
constexpr int kCorrections = 2;
// A target that is a smaller part of the terms is lost among them.
constexpr double kSwamped = 1e-8;
// Of a coefficient, in units of what one rounding in each row would move it.
constexpr double kTolerance = 4.0;
// Relative step of derivatives.
constexpr double kStep = 6e-6;
constexpr double kSmallest = 1e-290;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

std::set<Index> variables(const Law& law) {
  std::set<Index> found;
  for (const Basis& basis : law.phi)
    for (const Row& row : basis)
      for (const std::int16_t v : row.variables)
        if (v != 0 && std::abs(v) < kOne) found.insert(std::abs(v) - 1);
  return found;
}

Matrix terms_on(const Law& law, const Dataset& x, const Table& table) {
  Evaluator evaluator(x, table, kKeptBytes);
  Buffer values(x.features.stride());
  Matrix terms(x.n_rows(), ssize(law.phi));
  for (std::size_t j = 0; j < law.phi.size(); ++j) {
    evaluator.evaluate(law.phi[j], values.data());
    terms.col(static_cast<Index>(j)) =
        law.alpha[j] * Eigen::Map<const Vector>(values.data(), x.n_rows());
  }
  return terms;
}

// sum_j |x_v d(alpha_j phi_j)/dx_v|: what rounding of a feature can do to the terms.
Vector slopes(const Law& law, const Dataset& x, const Table& table, Index v) {
  Matrix ends[2];
  for (const int side : {0, 1}) {
    Columns moved(x.n_rows(), x.features.n_columns());
    for (Index j = 0; j < x.features.n_columns(); ++j)
      std::copy_n(x.features[j], x.n_rows(), moved[j]);
    for (Index i = 0; i < x.n_rows(); ++i) moved[v][i] *= side == 0 ? 1.0 + kStep : 1.0 - kStep;
    ends[side] = terms_on(law, Dataset{std::move(moved)}, table);
  }
  Vector rise = (ends[0] - ends[1]).cwiseAbs().rowwise().sum() / (2.0 * kStep);
  return rise.array().isFinite().select(rise, 0.0);
}

Vector column_norms(const Matrix& columns) {
  Vector norms = columns.colwise().norm();
  return (norms.array() > 0.0).select(norms, 1.0);
}

Matrix rows_of(const Matrix& terms, const std::vector<Index>& rows) {
  Matrix out(ssize(rows), terms.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) out.row(static_cast<Index>(i)) = terms.row(rows[i]);
  return out;
}

// They are fitted to the ends of an interval, too, so that these always follow.
bool has_inner_constants(const Law& law) {
  return std::any_of(law.phi.begin(), law.phi.end(), [](const Basis& phi) {
    return std::any_of(phi.weights.begin(), phi.weights.begin() + phi.n_weights(),
                       [](double weight) { return weight != 1.0; });
  });
}

}  // namespace

bool RowWise::hold(const Vector& factors) const {
  const Vector left = residuals(factors);
  const auto off = std::count_if(left.begin(), left.end(),
                                 [](double r) { return !(std::abs(r) <= kRowRoundings); });
  return static_cast<double>(off) <= kStrayRows * static_cast<double>(left.size());
}

Vector RowWise::corrected(const std::vector<Index>& rows) const {
  const Matrix some = rows_of(terms, rows);
  const Vector norms = column_norms(some);
  const Eigen::ColPivHouseholderQR<Matrix> qr(some * norms.cwiseInverse().asDiagonal());
  Vector factors = Vector::Ones(terms.cols());
  for (int step = 0; step < kCorrections; ++step) {
    const Vector left = rows_of(residuals(factors), rows);
    factors += qr.solve(left).cwiseQuotient(norms);
  }
  return factors;
}

bool RowWise::ends_follow(const double* x) const {
  const Index n = target.size();
  const auto cut = static_cast<Index>(kEnds * static_cast<double>(n));
  if (cut == 0 || n - 2 * cut <= terms.cols()) return true;
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return x[a] < x[b]; });
  const std::vector<Index> inner(order.begin() + cut, order.end() - cut);
  std::vector<Index> outer(order.begin(), order.begin() + cut);
  outer.insert(outer.end(), order.end() - cut, order.end());

  const Vector left = residuals(corrected(inner));
  const double noise = std::max(1.0, rows_of(left, inner).squaredNorm() / static_cast<double>(n));
  const Matrix middle = rows_of(terms, inner);
  const Vector norms = column_norms(middle);
  const Eigen::HouseholderQR<Matrix> qr(middle * norms.cwiseInverse().asDiagonal());
  const Matrix r = qr.matrixQR().topRows(terms.cols());
  const Matrix scaled = rows_of(terms, outer) * norms.cwiseInverse().asDiagonal();
  const Matrix leverage = r.triangularView<Eigen::Upper>().solve<Eigen::OnTheRight>(scaled);
  double off = 0.0;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    const double amplified = 1.0 + leverage.row(static_cast<Index>(i)).squaredNorm();
    off += left(outer[i]) * left(outer[i]) / amplified;
  }
  return std::sqrt(off / static_cast<double>(outer.size()) / noise) <= kEndsOff;
}

// Without a term the residual grows by the norm of what the others cannot replace of it.
double RowWise::least_term() const {
  const Vector norms = column_norms(terms);
  const Eigen::HouseholderQR<Matrix> qr(terms * norms.cwiseInverse().asDiagonal());
  const Matrix r = qr.matrixQR().topRows(terms.cols());
  const Matrix identity = Matrix::Identity(terms.cols(), terms.cols());
  const Matrix inverse = r.triangularView<Eigen::Upper>().solve(identity);
  const Vector left = norms.cwiseQuotient(inverse.rowwise().norm());
  return left.minCoeff() / std::sqrt(static_cast<double>(target.size()));
}

RowWise row_wise(const Law& law, const Dataset& x, const Table& table, const TargetSizes& target) {
  RowWise out{terms_on(law, x, table), target.values};
  Vector sizes = target.sizes + out.terms.cwiseAbs().rowwise().sum();
  for (const Index v : variables(law)) sizes += slopes(law, x, table, v);
  const Vector units = std::numeric_limits<double>::epsilon() * sizes.cwiseMax(kSmallest);
  out.terms = units.cwiseInverse().asDiagonal() * out.terms;
  out.target = out.target.cwiseQuotient(units);
  return out;
}

namespace {

// Coefficients that fit the target relative to its size in each row.
void fit_relative(Law& law, const Dataset& x, const Table& table, const TargetSizes& target) {
  std::fill(law.alpha.begin(), law.alpha.end(), 1.0);
  const Vector units = target.sizes.cwiseMax(kSmallest);
  const Matrix terms = units.cwiseInverse().asDiagonal() * terms_on(law, x, table);
  const Vector norms = column_norms(terms);
  const Eigen::ColPivHouseholderQR<Matrix> qr(terms * norms.cwiseInverse().asDiagonal());
  const Vector alpha = qr.solve(target.values.cwiseQuotient(units)).cwiseQuotient(norms);
  law.alpha.assign(alpha.begin(), alpha.end());
}

void leave_out(Law& law, std::vector<Index>& places, Index j) {
  law.phi.erase(law.phi.begin() + j);
  law.alpha.erase(law.alpha.begin() + j);
  places.erase(places.begin() + j);
}

// Whether the terms cancel to next to nothing in most rows: these say nothing then.
bool is_swamped(const RowWise& rows) {
  const Vector sizes = rows.terms.cwiseAbs().rowwise().sum();
  Index n = 0;
  for (Index i = 0; i < sizes.size(); ++i)
    n += std::abs(rows.target(i)) < kSwamped * sizes(i) ? 1 : 0;
  return 2 * n > sizes.size();
}

// Norms of the rows of R^-1 for the terms in units of rounding.
Vector errors_of(const RowWise& rows) {
  const Vector norms = column_norms(rows.terms);
  const Eigen::HouseholderQR<Matrix> qr(rows.terms * norms.cwiseInverse().asDiagonal());
  const Index k = rows.terms.cols();
  const Matrix r = qr.matrixQR().topRows(k);
  const Matrix inverse = r.triangularView<Eigen::Upper>().solve(Matrix::Identity(k, k));
  return inverse.rowwise().norm().cwiseQuotient(norms);
}

}  // namespace

RowWiseFit fit_in_every_row(Law& law, const Dataset& x, const Table& table,
                            const TargetSizes& target) {
  RowWiseFit out;
  std::vector<Index> places(law.phi.size());
  std::iota(places.begin(), places.end(), Index{0});
  Law trial = law;
  while (!trial.phi.empty()) {
    fit_relative(trial, x, table, target);
    const RowWise rows = row_wise(trial, x, table, target);
    const bool finite = rows.terms.allFinite() && rows.target.allFinite();
    if (!finite || !rows.hold(Vector::Ones(rows.terms.cols()))) return out;
    const Vector errors = errors_of(rows);
    out = {places, {}};
    law = trial;
    for (Index j = 0; j < errors.size(); ++j)
      out.tolerances.push_back(kTolerance * errors(j) *
                               std::abs(law.alpha[static_cast<std::size_t>(j)]));
    Index least = 0;
    errors.maxCoeff(&least);
    leave_out(trial, places, least);
  }
  return out;
}

bool exact_in_every_row(Law& law, const Dataset& x, const Table& table, const TargetSizes& target) {
  RowWise rows = row_wise(law, x, table, target);
  if (!rows.terms.allFinite() || !rows.target.allFinite() || is_swamped(rows)) return false;
  if (!rows.hold(Vector::Ones(rows.terms.cols()))) {
    std::vector<Index> all(x.n_rows());
    std::iota(all.begin(), all.end(), Index{0});
    const Vector factors = rows.corrected(all);
    if (!rows.hold(factors)) return false;
    for (std::size_t j = 0; j < law.alpha.size(); ++j)
      law.alpha[j] *= factors(static_cast<Index>(j));
    rows.terms = rows.terms * factors.asDiagonal();
  }
  if (rows.terms.cols() < kManyTerms) return true;
  const std::set<Index> used = variables(law);
  return rows.least_term() >= kStandsOut &&
         (used.size() != 1 ||
          (!has_inner_constants(law) && rows.ends_follow(x.features[*used.begin()])));
}

}  // namespace gsr

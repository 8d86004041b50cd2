#include "gsr/fitness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "gsr/description_length.hpp"
#include "gsr/exactness.hpp"
#include "gsr/random.hpp"

namespace gsr {
namespace {

// A residual within this many roundings of the terms' size is taken for exact.
constexpr double kRoundings = 16.0;
// An exact law may use up at most this part of the data's bits.
constexpr double kBitsPerRow = 25.0;
// And never more than this, about ten terms with arbitrary constants.
constexpr double kMostBits = 650.0;
// The least fitness of an individual that is not an accepted law.
constexpr double kInexact = 1e-9;
// Rows whose target is smaller than this part of the largest play no part in a norm.
constexpr double kSmallPart = 1e-8;
// A psi with a smaller share of the (unit) transformed target is not part of the law.
constexpr double kNegligible = 1e-9;
// Rounding of g(y), seen on the scale of y, relative to the spread of y.
constexpr double kExactOnTarget = 1e-6;
// Between laws that say the same, y = f(x) is preferred.
constexpr double kTransformedTarget = 8.0;
constexpr double kManyTargets = 1e-3;
// A law that does not say which of two solutions is meant is half a law.
constexpr double kOpenSign = 400.0;
// Few rows are matched by chance, the more so if they are whole numbers.
constexpr double kFewRows = 10.0;
constexpr double kBitsPerFewRows = 6.0;
// Steps on the scale of y for a law that the archive would take.
constexpr int kTargetSteps = 6;
// Laws of so few terms are fitted there before the archive is asked: in the space of 1/y or ln|y| a
// few noisy rows may hide how good they are.
constexpr std::size_t kShortSubset = 3;

bool is_plain_target(const Law& law, const Table& table) {
  return law.psi.size() == 1 && law.psi[0].size == 1 &&
         law.psi[0].rows[0].transformation == table.identity() &&
         law.psi[0].rows[0].argument == ArgumentType::variable;
}

}  // namespace

BasisSet::BasisSet(const Dataset& data, const Table& table, int n_v, int capacity,
                   bool with_constant, std::size_t max_bytes)
    : evaluator_(data, table, max_bytes),
      table_(table),
      n_v_(n_v),
      capacity_(capacity),
      with_constant_(with_constant) {
  const auto n = static_cast<std::size_t>(capacity);
  values_.resize(data.n_rows(), capacity);
  weights_.assign(values_.stride(), 0.0);
  Random random(0, 0, 0);
  for (Index i = 0; i < data.n_rows(); ++i) weights_[i] = random.uniform() - 0.5;
  bases_.resize(n);
  costs_.resize(n);
  prints_.resize(n);
}

bool BasisSet::add(const Basis& raw) {
  if (full() || (!with_constant_ && is_constant(raw, table_))) return false;
  const Basis basis = canonical_up_to_factor(raw, table_, n_v_);
  if (rule_ && !rule_(basis)) return false;
  double* out = values_[size_];
  if (!evaluator_.evaluate(basis, out)) return false;
  const Eigen::Map<const Vector, Eigen::Aligned64> v(out, values_.stride());
  const double norm = v.norm();
  if (!(norm > 0.0) || !std::isfinite(norm)) return false;
  const double print =
      std::abs(v.dot(Eigen::Map<const Vector, Eigen::Aligned64>(weights_.data(), v.size()))) / norm;
  if (is_duplicate(print)) return false;

  const auto j = static_cast<std::size_t>(size_++);
  bases_[j] = basis;
  costs_[j] = complexity(basis, table_);
  prints_[j] = print;
  return true;
}

bool BasisSet::fix(const Basis& basis) {
  clear();
  if (!add(basis)) return false;
  ++n_fixed_;
  return true;
}

bool BasisSet::holds(const Basis& raw) const {
  const Basis basis = canonical_up_to_factor(raw, table_, n_v_);
  return std::find(bases_.begin(), bases_.begin() + size_, basis) != bases_.begin() + size_;
}

bool BasisSet::is_duplicate(double print) const {
  for (std::size_t j = 0; j < static_cast<std::size_t>(size_); ++j)
    if (std::abs(prints_[j] - print) <= 1e-12) return true;
  return false;
}

IndividualSolver::IndividualSolver(const Problem& problem, std::size_t max_bytes, int n_phi,
                                   int n_psi)
    : problem_(problem),
      scale_(problem.y, problem.target_table, problem.settings.guided, problem.row_weights),
      law_fit_(problem.x, problem.y, problem.table, problem.target_table, problem.row_weights),
      phi_(problem.x, problem.table, problem.settings.max_multiplicity,
           n_phi > 0 ? n_phi : problem.settings.n_phi,
           problem.settings.solver == SolverKind::printed, max_bytes),
      psi_(problem.y, problem.target_table, 1, n_psi > 0 ? n_psi : problem.settings.n_psi, false,
           std::size_t{1} << 20) {
  const Index k = phi_.capacity() + 1;
  const Index p = psi_.capacity();
  fit_.resize(k + p, k, p);
  lasso_.resize(k, p);
  ones_.assign(problem.x.features.stride(), 0.0);
  std::fill_n(ones_.data(), problem.x.n_rows(), 1.0);
  prediction_ = ones_;
  const Constraints& known = problem.constraints;
  if (known.restricts_bases()) {
    phi_.hold_to([&](const Basis& b) { return known.admits(b, problem_.table); });
    psi_.hold_to([&](const Basis& b) { return known.admits_target(b, problem_.target_table); });
  }
  fix_required();
}

void IndividualSolver::fix_required() {
  for (const Basis& basis : problem_.constraints.required)
    if (!phi_.fix(basis))
      throw std::invalid_argument(
          "a required term is undefined on the data, or constant, or not allowed");
}

double IndividualSolver::solve(double bound, double bits_limit, bool chosen) {
  has_law_ = false;
  if (phi_.size() == 0 || psi_.size() == 0) return std::numeric_limits<double>::infinity();
  if (problem_.settings.solver == SolverKind::printed) return solve_printed();

  const bool weighted = weighted_ && psi_.size() == 1;
  reduce(weighted ? scale_.weights(psi_.basis(0)) : problem_.row_weights);
  if (reduced_.n_targets() == 0 || !has_required()) return std::numeric_limits<double>::infinity();
  take_all_columns();
  if (subset_.empty()) return std::numeric_limits<double>::infinity();
  fit_.solve(reduced_, subset_);
  if (!weighted && is_exact()) {
    settle_exact();
    // Ranked by its description, far below what any other individual reaches.
    if (law_.exact && law_.bits <= bits_limit) return 1e-18 * law_.bits;
    take_all_columns();
  } else if (fit_.error() >= bound) {
    return fit_.error();
  }
  if (!chosen) {
    const admm::Info info = lasso_.select(reduced_, problem_.settings.admm, subset_);
    n_unconverged_ += info.status != admm::Status::converged;
    drop_inadmissible();
    if (subset_.empty()) return std::numeric_limits<double>::infinity();
  }
  fit_.solve(reduced_, subset_);
  // Many terms reach rounding level by accident; they rank with the others, above all laws.
  return std::max(error_on_both_scales(score_subset()) / freedom(), kInexact);
}

// The error is corrected for the number of terms as generalised cross-validation does, twice: each
// term was chosen besides being fitted. Without it sets that nearly interpolate the rows take over.
double IndividualSolver::freedom() const {
  const double rows = static_cast<double>(problem_.x.n_rows());
  const double share = 1.0 - static_cast<double>(subset_.size()) / (rows + 1.0);
  return share * share;
}

// A transformed target that a few large values dominate (exp(y)) is easy to fit and says little:
// the error on the scale of y counts where it is larger.
double IndividualSolver::error_on_both_scales(const Law& law) const {
  const double relative = law.rmse / scale_.spread();
  return std::isfinite(relative) ? std::max(law.transformed_error, std::min(relative, 1.0))
                                 : law.transformed_error;
}

Law IndividualSolver::fitted_law() {
  if (has_law_) return law_;
  Law law = score_subset();
  add_terms(law);
  return law;
}

void IndividualSolver::collect(const Archive& archive, std::vector<Law>& laws) {
  if (has_law_ && archive.would_take(law_) && admits(law_)) laws.push_back(law_);
  const bool printed = problem_.settings.solver == SolverKind::printed;
  if (!printed && !(has_law_ && law_.exact)) collect_path(archive, laws);
}

void IndividualSolver::reduce(const Buffer& weights) {
  if (!weights.empty() && weighted_columns_.n_columns() == 0)
    weighted_columns_.resize(problem_.x.n_rows(), phi_.capacity() + 1 + psi_.capacity());
  reduced_.reset(problem_.x.n_rows(), phi_.capacity() + 1, psi_.capacity());
  push_columns(weights);
  const Constraints& known = problem_.constraints;
  const auto dimension = [&](int k) {
    return known.target_dimension(psi_.basis(k), problem_.target_table);
  };
  const bool strict = known.restricts_units();
  for (int k = 0; k < psi_.size(); ++k) {
    if (strict && k > 0 && !dimension(0)->matches(*dimension(k))) break;
    reduced_.push_target(weigh_column(psi_.values(k), weights, phi_.capacity() + 1 + k),
                         scale_.rounding_norm(psi_.basis(k)));
  }
  reduced_.finish();
}

// The required ones first; with units, only those of the target's.
void IndividualSolver::push_columns(const Buffer& weights) {
  reduced_.push_column(weigh_column(ones_.data(), weights, 0), -1);
  order_by_cost();
  const Constraints& known = problem_.constraints;
  std::optional<Dimension> wanted;
  if (known.restricts_units())
    wanted = known.target_dimension(psi_.basis(0), problem_.target_table);
  constant_allowed_ = !wanted || wanted->matches(Dimension{});
  for (const int j : order_) {
    if (wanted && !wanted->matches(*known.dimension(phi_.basis(j), problem_.table))) continue;
    reduced_.push_column(weigh_column(phi_.values(j), weights, j + 1), j);
  }
}

const double* IndividualSolver::weigh_column(const double* values, const Buffer& weights,
                                             Index to) {
  if (weights.empty()) return values;
  double* out = weighted_columns_[to];
  for (std::size_t i = 0; i < weights.size(); ++i) out[i] = weights[i] * values[i];
  return out;
}

// Of columns that depend on each other the cheaper ones are kept.
void IndividualSolver::order_by_cost() {
  order_.resize(phi_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin() + phi_.n_fixed(), order_.end(), [&](int a, int b) {
    return phi_.cost(a) != phi_.cost(b) ? phi_.cost(a) < phi_.cost(b) : a < b;
  });
}

void IndividualSolver::take_all_columns() {
  subset_.resize(reduced_.n_columns());
  std::iota(subset_.begin(), subset_.end(), Index{0});
  drop_inadmissible();
}

// The constant, where units forbid it; and what is required is put back.
void IndividualSolver::drop_inadmissible() {
  if (!constant_allowed_)
    subset_.erase(std::remove(subset_.begin(), subset_.end(), Index{0}), subset_.end());
  for (Index j = 1; j < reduced_.n_columns() && reduced_.member(j) < phi_.n_fixed(); ++j)
    if (std::find(subset_.begin(), subset_.end(), j) == subset_.end()) subset_.push_back(j);
  if (phi_.n_fixed() > 0) std::sort(subset_.begin(), subset_.end());
}

bool IndividualSolver::has_required() const {
  int n = 0;
  for (Index j = 0; j < reduced_.n_columns(); ++j)
    n += reduced_.member(j) >= 0 && reduced_.member(j) < phi_.n_fixed() ? 1 : 0;
  return n == phi_.n_fixed();
}

bool IndividualSolver::admits(const Law& law) const {
  return problem_.constraints.admits_law(law, problem_.table, problem_.target_table);
}

bool IndividualSolver::removable(std::size_t position) const {
  const int member = reduced_.member(subset_[position]);
  return member < 0 || member >= phi_.n_fixed();
}

bool IndividualSolver::can_shrink() const {
  if (subset_.size() <= 1) return false;
  for (std::size_t i = 0; i < subset_.size(); ++i)
    if (removable(i)) return true;
  return false;
}

bool IndividualSolver::admits_subset(const Law& law) const {
  int n_terms = 0;
  for (const Index j : subset_) n_terms += reduced_.member(j) < 0 ? 0 : 1;
  return problem_.constraints.admits_size(law, n_terms);
}

bool IndividualSolver::is_exact() const {
  return fit_.rounding_ratio(reduced_, subset_) <= kRoundings && reduced_.n_rows() > ssize(subset_);
}

std::size_t IndividualSolver::cheapest_to_remove() {
  const Vector& cost = fit_.removal_cost();
  std::size_t best = subset_.size();
  for (std::size_t i = 0; i < subset_.size(); ++i)
    if (removable(i) &&
        (best == subset_.size() || cost(static_cast<Index>(i)) < cost(static_cast<Index>(best))))
      best = i;
  return best;
}

void IndividualSolver::remove_from_subset(std::size_t position) {
  subset_.erase(subset_.begin() + position);
  fit_.solve(reduced_, subset_);
}

// Backward elimination: terms go while the residual stays at rounding.
void IndividualSolver::eliminate_while_exact() {
  while (can_shrink()) {
    const std::size_t position = cheapest_to_remove();
    const Index removed = subset_[position];
    remove_from_subset(position);
    if (is_exact()) continue;
    subset_.insert(subset_.begin() + position, removed);
    fit_.solve(reduced_, subset_);
    return;
  }
}

// The law of an individual that reaches rounding level, and whether it counts as exact.
void IndividualSolver::settle_exact() {
  const std::vector<Index> all = subset_;
  eliminate_while_exact();
  law_ = score_subset();
  add_terms(law_);
  judge_exact(tolerances());
  if (!law_.exact && problem_.settings.guided && reduced_.n_targets() == 1) settle_relative(all);
  has_law_ = true;
}

// Where y spans many orders of magnitude a norm does not see all terms.
void IndividualSolver::settle_relative(const std::vector<Index>& all) {
  const TargetSizes target = scale_.sizes(law_);
  if (!(target.sizes.minCoeff() < kSmallPart * target.sizes.maxCoeff())) return;
  subset_ = all;
  fit_.solve(reduced_, subset_);
  Law law = score_subset();
  add_terms(law);
  const RowWiseFit fit = fit_in_every_row(law, problem_.x, problem_.table, target);
  if (fit.terms.empty()) return;
  std::vector<Index> kept;
  for (const Index place : fit.terms) kept.push_back(all[static_cast<std::size_t>(place)]);
  subset_ = kept;
  fit_.solve(reduced_, subset_);
  law_ = score_subset();
  law_.phi = law.phi;
  law_.alpha = law.alpha;
  judge_exact(fit.tolerances);
}

void IndividualSolver::judge_exact(const std::vector<double>& tolerances) {
  law_.bits = description_length(law_, tolerances);
  const double rows = static_cast<double>(problem_.x.n_rows());
  double per_row = kBitsPerRow;
  if (problem_.settings.guided) {
    if (!is_plain_target(law_, problem_.target_table)) law_.bits += kTransformedTarget;
    if (scale_.leaves_sign_open(law_)) law_.bits += kOpenSign;
    if (rows < kFewRows) per_row = kBitsPerFewRows;
  }
  law_.exact = law_.bits < std::min(per_row * rows, kMostBits) && admits_subset(law_) &&
               law_.rmse < kExactOnTarget * scale_.spread() &&
               exact_in_every_row(law_, problem_.x, problem_.table, scale_.sizes(law_));
}

// The nested laws from the lasso's support down to a single term.
void IndividualSolver::collect_path(const Archive& archive, std::vector<Law>& laws) {
  while (true) {
    Law law = score_subset();
    if (admits_subset(law)) {
      if (subset_.size() <= kShortSubset || archive.would_take(law)) fit_on_target(law);
      if (archive.would_take(law)) {
        if (law.phi.empty()) add_terms(law);
        if (admits(law)) laws.push_back(std::move(law));
      }
    }
    if (!can_shrink()) return;
    remove_from_subset(cheapest_to_remove());
  }
}

// Least squares in the space of g(y) is biased by noise in y: the front compares errors on the
// scale of y, so what joins it has its minimum there.
void IndividualSolver::fit_on_target(Law& law) {
  if (!problem_.settings.guided || !std::isfinite(law.rmse) || !law_fit_.supports(law)) return;
  if (scale_.is_identity(law.psi[0])) return;
  Law fitted = law;
  add_terms(fitted);
  law_fit_.refine(fitted, kTargetSteps);
  if (fitted.rmse < law.rmse) law = std::move(fitted);
}

// How far rounding may have moved each coefficient of the law made last.
std::vector<double> IndividualSolver::tolerances() {
  const Vector& unit = fit_.unit_errors();
  const double ratio = fit_.rounding_ratio(reduced_, subset_);
  const double residual = fit_.error() * std::max(1.0, 1.0 / std::max(ratio, 1e-3));
  std::vector<double> out;
  for (std::size_t i = 0; i < subset_.size(); ++i)
    out.push_back(4.0 * residual * unit(static_cast<Index>(i)) / std::abs(lead_));
  return out;
}

// The law of the current subset without its terms: most are scored and forgotten.
Law IndividualSolver::score_subset() {
  std::fill(prediction_.begin(), prediction_.end(), 0.0);
  Law law;
  for (std::size_t i = 0; i < subset_.size(); ++i) {
    const int member = reduced_.member(subset_[i]);
    add_to_prediction(member, fit_.alpha()(static_cast<Index>(i)));
    law.complexity += member < 0 ? kConstantTerm : phi_.cost(member) + kTerm;
  }
  for (Index k = 0; k < reduced_.n_targets(); ++k) {
    const double share = std::abs(fit_.beta()(k)) * reduced_.whitening().col(k).norm();
    if (share > kNegligible) add_target(law, reduced_.target_member(k), fit_.beta()(k));
  }
  law.transformed_error = fit_.error();
  finish_score(law);
  return law;
}

void IndividualSolver::add_terms(Law& law) const {
  for (std::size_t i = 0; i < subset_.size(); ++i) {
    const int member = reduced_.member(subset_[i]);
    law.alpha.push_back(fit_.alpha()(static_cast<Index>(i)) / lead_);
    law.phi.push_back(member < 0 ? constant_basis(problem_.table) : phi_.basis(member));
  }
}

void IndividualSolver::add_to_prediction(int member, double alpha) {
  const double* values = member < 0 ? ones_.data() : phi_.values(member);
  for (std::size_t i = 0; i < prediction_.size(); ++i) prediction_[i] += alpha * values[i];
}

void IndividualSolver::add_target(Law& law, int k, double beta) const {
  law.complexity += psi_.cost(k) + (law.psi.empty() ? 0 : kTerm);
  law.psi.push_back(psi_.basis(k));
  law.beta.push_back(beta);
}

void IndividualSolver::finish_score(Law& law) {
  lead_ = normalise(law, problem_.target_table);
  for (double& value : prediction_) value /= lead_;
  law.rmse = scale_.rmse(law, prediction_.data());
  // With two psi the error on y is known to first order only, which flatters poor laws.
  const Settings& settings = problem_.settings;
  if (settings.guided && static_cast<int>(law.psi.size()) > settings.n_psi &&
      law.transformed_error > kManyTargets)
    law.rmse = std::numeric_limits<double>::infinity();
}

// Algorithm 1 to the letter on A = [X, -Y], with the printed fitness ||A w|| / sqrt(N).
double IndividualSolver::solve_printed() {
  const int n_phi = phi_.size();
  const Index stride = problem_.x.features.stride();
  Matrix a(stride, n_phi + psi_.size());
  for (int j = 0; j < n_phi; ++j) a.col(j) = Eigen::Map<const Vector>(phi_.values(j), stride);
  for (int k = 0; k < psi_.size(); ++k)
    a.col(n_phi + k) = -Eigen::Map<const Vector>(psi_.values(k), stride);
  const admm::Info info =
      admm::solve_printed(a.transpose() * a, problem_.settings.admm, workspace_);
  n_unconverged_ += info.status != admm::Status::converged;
  const Vector& w = workspace_.w;

  law_ = Law{};
  std::fill(prediction_.begin(), prediction_.end(), 0.0);
  for (int j = 0; j < n_phi; ++j) {
    add_to_prediction(j, w(j));
    law_.alpha.push_back(w(j));
    law_.phi.push_back(phi_.basis(j));
    law_.complexity +=
        is_constant(phi_.basis(j), problem_.table) ? kConstantTerm : phi_.cost(j) + kTerm;
  }
  for (int k = 0; k < psi_.size(); ++k) add_target(law_, k, w(n_phi + k));
  law_.transformed_error = (a * w).norm() / std::sqrt(static_cast<double>(problem_.x.n_rows()));
  finish_score(law_);
  has_law_ = true;
  return std::isfinite(law_.transformed_error) ? law_.transformed_error
                                               : std::numeric_limits<double>::infinity();
}

}  // namespace gsr

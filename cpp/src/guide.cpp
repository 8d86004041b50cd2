#include "gsr/guide.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "gsr/random.hpp"

namespace gsr {
namespace {

using composition::Tree;

constexpr std::size_t kMostFeatures = 10;  // combined with each other
constexpr int kBins = 8;
constexpr int kColumns = 28;  // of an individual made here
constexpr std::size_t kPartnered = 6;  // psi that may come two at once
constexpr Index kPrefactorRows = 1000;
constexpr Index kFrequencyRows = 768;
constexpr Index kWeightedRows = 300;
constexpr double kAnyBits = 1e9;
// A logarithmic law becomes a product if its exponents are this near to halves, when exact and when
// there is noise.
constexpr double kExactExponent = 1e-6;
constexpr double kNoisyExponent = 0.12;
constexpr double kNearlyExact = 1e-14;  // share of the variance that is left

Reach reach(int level, std::size_t n_features) {
  const std::size_t d = std::max<std::size_t>(1, n_features);
  switch (level) {
    case 0: return {2, 60 + 20 * d, 200 + 60 * d, 400 + 100 * d, false};
    case 1: return {4, 200 + 80 * d, 3000 + 2000 * d, 2000 + 1000 * d, true};
    case 2: return {5, 400 + 250 * d, 6000 + 4000 * d, 6000 + 3000 * d, true};
    default: return {6, 800 + 500 * d, 10000 + 4000 * d, 20000 + 5000 * d, true};
  }
}

Index rows_at(int level, int n_features) {
  const Index few = 40 + 4 * std::min(n_features, 12);
  return level == 0 ? few : level == 1 ? 2 * few : level == 2 ? 4 * few : 1600;
}

int beam(int level) { return level < 2 ? 3 : 4; }
int depth(int level) { return level == 0 ? 5 : 6; }
// So many of the cheapest columns are paired with all.
Index pair_reach(int level) { return level == 0 ? 500 : level == 1 ? 1200 : 3000; }
// Sets of columns are followed this far only for the best goals; the others get a glance.
constexpr std::size_t kFavoured = 8;
constexpr Index kPairedWithMoving = 64;
constexpr std::size_t kPairedBeside = 400;

std::vector<Index> spread_rows(Index n, Index wanted, std::uint64_t seed) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  if (wanted >= n) return rows;
  Random random(seed, 17, 0);
  for (Index i = 0; i < wanted; ++i)
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(random.integer(static_cast<int>(i), static_cast<int>(n) - 1))]);
  rows.resize(static_cast<std::size_t>(wanted));
  return rows;
}

Columns take_rows(const Columns& from, const std::vector<Index>& rows) {
  Columns out(static_cast<Index>(rows.size()), from.n_columns());
  for (Index j = 0; j < from.n_columns(); ++j)
    for (std::size_t i = 0; i < rows.size(); ++i) out[j][i] = from[j][rows[i]];
  return out;
}

// Share of y's variance between the bins of x: what x explains by itself, in any shape.
double explained_by_bins(const double* x, const double* y, Index n) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return x[a] < x[b]; });
  double mean = 0.0;
  for (Index i = 0; i < n; ++i) mean += y[i] / static_cast<double>(n);
  double between = 0.0;
  for (int bin = 0; bin < kBins; ++bin) {
    const Index first = n * bin / kBins, last = n * (bin + 1) / kBins;
    if (first == last) continue;
    double sum = 0.0;
    for (Index i = first; i < last; ++i) sum += y[order[static_cast<std::size_t>(i)]] - mean;
    between += sum * sum / static_cast<double>(last - first);
  }
  return between;
}

Columns weighed(Columns columns, const Buffer& weights) {
  for (Index j = 0; j < columns.n_columns(); ++j)
    for (std::size_t i = 0; i < weights.size(); ++i) columns[j][i] *= weights[i];
  return columns;
}

// The half-integer that an exponent stands for, in halves; false if it stands for none.
bool snapped(double exponent, double tolerance, int& halves) {
  halves = static_cast<int>(std::lround(2.0 * exponent));
  return std::abs(halves) <= 16 && std::abs(exponent - 0.5 * halves) <= tolerance;
}

}  // namespace

Guide::Guide(const Problem& problem, std::size_t max_bytes)
    : problem_(problem), settings_(problem.settings), solver_(problem, max_bytes, kColumns, 2) {
  choose_rows(problem.x.n_rows());
  rank_features();
  plan_stage();
}

double Guide::step(Archive& archive) {
  archive_ = &archive;
  if (work_.empty() && stage_ < kStages.size() && ++stage_ < kStages.size()) {
    plan_stage();
  }
  if (work_.empty()) return 1e18;
  const std::function<double()> task = std::move(work_.front());
  work_.pop_front();
  return std::max(1.0, task());
}

double Guide::size_of(double operations) const {
  return operations / (300.0 * static_cast<double>(problem_.x.n_rows()) + 4e4);
}

// ---- what is looked at -----------------------------------------------------------------------

void Guide::choose_rows(Index n) {
  const std::vector<Index> rows =
      spread_rows(problem_.x.n_rows(), n, settings_.seed);
  x_.features = take_rows(problem_.x.features, rows);
  y_.features = take_rows(problem_.y.features, rows);
}

void Guide::rank_features() {
  const int d = problem_.x.n_features();
  std::vector<double> score;
  for (int f = 0; f < d; ++f)
    score.push_back(explained_by_bins(x_.features[f], y_.features[0], x_.n_rows()));
  features_.resize(static_cast<std::size_t>(d));
  std::iota(features_.begin(), features_.end(), 1);
  if (features_.size() <= kMostFeatures) return;
  std::stable_sort(features_.begin(), features_.end(), [&](int a, int b) {
    return score[static_cast<std::size_t>(a - 1)] > score[static_cast<std::size_t>(b - 1)];
  });
  features_.resize(kMostFeatures);
}

void Guide::plan_stage() {
  const Stage& stage = kStages[stage_];
  level_ = stage.level;
  const bool weighted = stage.look == Look::weighted;
  solver_.weigh(weighted);
  choose_rows(weighted ? kWeightedRows : rows_at(level_, problem_.x.n_features()));
  make_goals();
  if (weighted) weigh_goals();
  if (stage.look == Look::plain) plan_plain();
  if (weighted) plan_weighted();
  if (stage.look == Look::moving && settings_.constants) plan_moving();
}

// What is likely and cheap first: plain goals, pairs, then goals that few laws need.
void Guide::plan_plain() {
  if (level_ == 0) plan_sublibraries();
  work_.emplace_back([this] { return build_pools(); });
  const auto unusual_sum = [](const Goal& goal) { return goal.partner.size > 0; };
  const auto unusual_log = [](const LogGoal& goal) { return !goal.prefactor.empty(); };
  for (std::size_t k = 0; k < std::max(goals_.size(), log_goals_.size()); ++k) {
    if (k < goals_.size() && !unusual_sum(goals_[k])) plan_scan(goals_[k]);
    if (k < log_goals_.size() && !unusual_log(log_goals_[k])) plan_scan(log_goals_[k]);
  }
  if (features_.size() > 1) {
    work_.emplace_back([this] { return scan_separable_sums(); });
    work_.emplace_back([this] { return scan_separable_logarithms(); });
  }
  work_.emplace_back([this] { return scan_sum_pairs(); });
  work_.emplace_back([this] { return scan_log_pairs(); });
  if (level_ < 2) {
    work_.emplace_back([this] { return scan_triples(true); });
    work_.emplace_back([this] { return scan_triples(false); });
  }
  work_.emplace_back([this] {
    simple_done_ = true;
    return 1.0;
  });
  for (Goal& goal : goals_)
    if (unusual_sum(goal)) plan_scan(goal);
  for (LogGoal& goal : log_goals_)
    if (unusual_log(goal)) plan_scan(goal);
}

void Guide::plan_weighted() {
  work_.emplace_back([this] { return build_pools(); });
  const std::size_t most = level_ == 0 ? goals_.size() : kFavoured;
  for (std::size_t k = 0; k < most; ++k) {
    if (k < goals_.size() && goals_[k].partner.size == 0)
      work_.emplace_back([this, k] { return scan_weighted_sums(goals_[k]); });
    if (k < log_goals_.size() && log_goals_[k].prefactor.empty())
      work_.emplace_back([this, k] { return scan_weighted_logarithms(log_goals_[k]); });
  }
}

void Guide::plan_scan(Goal& goal) {
  work_.emplace_back([this, &goal] { return scan_sums(goal); });
}

void Guide::plan_scan(LogGoal& goal) {
  work_.emplace_back([this, &goal] { return scan_logarithms(goal); });
}

void Guide::plan_moving() {
  work_.emplace_back([this] { return build_pools(); });
  work_.emplace_back([this] { return build_moving_sums(); });
  work_.emplace_back([this] { return build_moving_logarithms(); });
  std::size_t n = 0;
  for (LogGoal& goal : log_goals_)
    if (goal.prefactor.empty() && n++ < kFavoured)
      work_.emplace_back([this, &goal] { return scan_parametric_logarithm(goal); });
  for (Goal& goal : goals_)
    if (goal.partner.size == 0)
      work_.emplace_back([this, &goal] { return scan_parametric_sum(goal); });
  if (level_ != 1) return;
  const std::size_t m = std::min<std::size_t>(features_.size(), 3);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = i + 1; j < m; ++j)
      work_.emplace_back([this, i, j] { return scan_two_frequencies(features_[i], features_[j]); });
}

Buffer Guide::values_of(const Basis& basis, const Dataset& data, const Table& table) const {
  Buffer out(static_cast<std::size_t>(data.features.stride()), 0.0);
  if (!Evaluator(data, table, std::size_t{1} << 20).evaluate(basis, out.data())) out.clear();
  return out;
}

// In the order of what they promised one level earlier, so that good ones come first.
void Guide::make_goals() {
  const std::vector<Goal> before = std::move(goals_);
  const std::vector<LogGoal> log_before = std::move(log_goals_);
  goals_.clear();
  log_goals_.clear();
  for (const LogTarget& target : log_targets(problem_.target_table, settings_)) {
    LogGoal goal{target, values_of(target.logarithm, y_, problem_.target_table), 1.0, {}, 0.0, {}};
    if (goal.values.empty()) continue;
    for (const LogGoal& old : log_before)
      if (old.target.logarithm == target.logarithm && old.prefactor.empty())
        goal.promise = old.promise;
    log_goals_.push_back(std::move(goal));
  }
  if (stage_ == 0) {
    find_prefactors();
    choose_rows(rows_at(level_, problem_.x.n_features()));
  }
  if (level_ < 2) add_shifted_log_goals();
  for (const Basis& psi : sum_targets(problem_.target_table, settings_)) {
    const Buffer values = values_of(psi, y_, problem_.target_table);
    if (values.empty()) continue;
    goals_.push_back({psi, {}, values, 1.0, {}, {}, {}});
  }
  add_prefactor_goals();
  add_partner_goals();
  for (Goal& goal : goals_)
    for (const Goal& old : before)
      if (old.psi == goal.psi && old.prefactor == goal.prefactor && old.partner == goal.partner)
        goal.promise = old.promise;
  // What is left of psi says little about y where psi is steep: y, 1/y, y^2 and ln|y| stay in front.
  const auto by_promise = [](const auto& a, const auto& b) { return a.promise < b.promise; };
  const auto n_first = static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, goals_.size()));
  std::stable_sort(goals_.begin() + n_first, goals_.end(), by_promise);
  if (!log_goals_.empty()) std::stable_sort(log_goals_.begin() + 1, log_goals_.end(), by_promise);
}

void Guide::weigh_goals() {
  TargetScale scale(y_, problem_.target_table);
  for (Goal& goal : goals_) {
    goal.weights = scale.weights(goal.psi);
    const Buffer prefactor = goal.prefactor.empty() ? Buffer() : monomial_values(goal.prefactor);
    for (std::size_t i = 0; i < prefactor.size(); ++i) goal.weights[i] *= std::abs(prefactor[i]);
  }
  for (LogGoal& goal : log_goals_) goal.weights = scale.weights(goal.target.logarithm);
}

// y, 1/y and y^2 are divided by p, 1/p and p^2.
void Guide::add_prefactor_goals() {
  const std::size_t n_plain = std::min<std::size_t>(goals_.size(), 3);
  for (const Monomial& prefactor : prefactors_) {
    for (std::size_t k = 0; k < n_plain; ++k) {
      Monomial scaled = prefactor;
      for (auto& [f, p] : scaled) p *= k == 0 ? 1 : k == 1 ? -1 : 2;
      const Buffer divisor = monomial_values(scaled);
      if (divisor.empty()) continue;
      Goal goal{goals_[k].psi, scaled, goals_[k].values, 1.0, {}, {}, {}};
      for (Index i = 0; i < x_.n_rows(); ++i)
        goal.values[static_cast<std::size_t>(i)] /= divisor[static_cast<std::size_t>(i)];
      goals_.push_back(std::move(goal));
    }
  }
}

Buffer Guide::monomial_values(const Monomial& monomial) const {
  Basis basis;
  if (!composition::write({monomial_tree(problem_.table, monomial)}, basis)) return {};
  return values_of(basis, x_, problem_.table);
}

// y = p (1 + product) and y = p (-1 + product), with one more feature in p.
void Guide::add_shifted_log_goals() {
  if (log_goals_.empty()) return;
  std::vector<Monomial> tried;
  for (const int f : features_)
    for (const int sign : {1, -1}) tried.push_back({{f, sign}});
  for (const Monomial& found : prefactors_) {
    tried.push_back(found);
    for (const int f : features_)
      for (const int sign : {1, -1}) {
        const auto known = [f](const auto& power) { return power.first == f; };
        if (std::any_of(found.begin(), found.end(), known)) continue;
        tried.push_back(found);
        tried.back().emplace_back(f, sign);
      }
  }
  for (const Monomial& prefactor : tried) {
    const Buffer divisor = monomial_values(prefactor);
    if (divisor.empty()) continue;
    for (const double shift : {-1.0, 1.0}) {
      LogGoal goal{log_goals_[0].target, divisor, 1.0, prefactor, shift, {}};
      bool finite = true;
      for (Index i = 0; i < x_.n_rows(); ++i) {
        double& v = goal.values[static_cast<std::size_t>(i)];
        v = std::log(std::abs(y_.features[0][i] / v + shift));
        finite = finite && std::isfinite(v);
      }
      if (finite) log_goals_.push_back(std::move(goal));
    }
  }
}

// Two psi at once: the second one stands beside the terms.
void Guide::add_partner_goals() {
  if (!settings_.transform_target || goals_.empty()) return;
  const std::size_t n = std::min(goals_.size(), kPartnered);
  for (std::size_t a = 1; a < n; ++a)
    for (std::size_t b = 0; b < std::min<std::size_t>(a, 2); ++b) {
      if (!goals_[a].prefactor.empty() || !goals_[b].prefactor.empty()) continue;
      Goal goal = goals_[a];
      goal.partner = goals_[b].psi;
      goal.partner_values = goals_[b].values;
      goals_.push_back(std::move(goal));
    }
}

// A feature that enters as a power shows a constant slope of ln|y| in ln|x|: in a quadratic fit its
// linear coefficient is a small number and its other coefficients vanish.
void Guide::find_prefactors() {
  choose_rows(kPrefactorRows);
  const Index n = x_.n_rows();
  const auto d = static_cast<Index>(features_.size());
  const Index n_columns = 1 + d + d * (d + 1) / 2;
  if (log_goals_.empty() || n < n_columns + 10) return;
  Columns logs(n, d);
  for (Index j = 0; j < d; ++j)
    for (Index i = 0; i < n; ++i) {
      const double v = std::log(std::abs(x_.features[features_[static_cast<std::size_t>(j)] - 1][i]));
      if (!std::isfinite(v)) return;
      logs[j][i] = v;
    }
  for (Index j = 0; j < d; ++j) {
    Eigen::Map<Vector> column(logs[j], n);
    column.array() -= column.mean();
  }
  Orthogonalizer qr;
  qr.reset(n, n_columns);
  std::vector<std::pair<Index, Index>> meaning;
  Buffer column(static_cast<std::size_t>(logs.stride()), 0.0);
  const auto push = [&](Index a, Index b) {
    for (Index i = 0; i < n; ++i)
      column[static_cast<std::size_t>(i)] = (a < 0 ? 1.0 : logs[a][i]) * (b < 0 ? 1.0 : logs[b][i]);
    if (qr.push(column.data(), 1e-6)) meaning.emplace_back(a, b);
  };
  push(-1, -1);
  for (Index j = 0; j < d; ++j) push(j, -1);
  for (Index j = 0; j < d; ++j)
    for (Index k = j; k < d; ++k) push(j, k);
  Buffer rest = values_of(log_goals_[0].target.logarithm, y_, problem_.target_table);
  if (rest.empty()) return;
  Vector projected(qr.size()), coefficient(qr.size()), error(qr.size());
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), coefficient.data());
  qr.inverse_row_norms(error.data());
  const double left = std::sqrt(std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0) /
                                static_cast<double>(n - qr.size()));
  Monomial pure, doubtful;
  for (Index j = 0; j < d; ++j) {
    double slope = 0.0, slope_error = 0.0, worst = 0.0;
    for (Index k = 0; k < qr.size(); ++k) {
      const auto [a, b] = meaning[static_cast<std::size_t>(k)];
      const double sigma = left * error(k);
      if (a == j && b < 0) slope = coefficient(k), slope_error = sigma;
      if (b >= 0 && (a == j || b == j)) worst = std::max(worst, std::abs(coefficient(k)) / sigma);
    }
    const auto power = static_cast<int>(std::lround(slope));
    const bool near = std::abs(slope - power) < std::max(4.0 * slope_error, 1e-9);
    if (power == 0 || std::abs(power) > 4 || !near || slope_error > 0.2) continue;
    doubtful.emplace_back(features_[static_cast<std::size_t>(j)], power);
    if (worst < 4.0) pure.emplace_back(features_[static_cast<std::size_t>(j)], power);
  }
  for (const Monomial& found : {pure, doubtful})
    if (!found.empty() && std::find(prefactors_.begin(), prefactors_.end(), found) == prefactors_.end())
      prefactors_.push_back(found);
}

// ---- proposing -------------------------------------------------------------------------------

bool Guide::add_basis(const Trees& factors, std::vector<Basis>& out) const {
  for (const Tree& tree : factors)
    if (!composition::allowed(tree, problem_.table, settings_)) return false;
  Basis basis;
  if (!composition::write(factors, basis)) return false;
  out.push_back(canonical(basis, problem_.table, kMaxVariables));
  return true;
}

const LogTarget* Guide::log_target(const Basis& psi) const {
  for (const LogGoal& goal : log_goals_)
    if (goal.target.logarithm == psi) return &goal.target;
  return nullptr;
}

// A law for a logarithm is tried as a product too, which says the same better.
Law Guide::propose(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool whole) {
  ++evaluations_;
  solver_.phi().clear();
  solver_.psi().clear();
  for (const Basis& basis : psi) solver_.psi().add(basis);
  for (const Basis& basis : phi) solver_.phi().add(basis);
  Individual individual;
  individual.fitness = solver_.solve(std::numeric_limits<double>::infinity(), kAnyBits, !whole);
  if (!std::isfinite(individual.fitness)) return {};
  Law fitted = solver_.fitted_law();
  std::vector<Law> laws;
  solver_.collect(*archive_, laws);
  for (const Law& law : laws)
    if (std::isfinite(law.rmse)) archive_->offer(law);
  if (psi.size() == 1) {
    for (int j = 0; j < solver_.phi().size(); ++j) individual.phi.push_back(solver_.phi().basis(j));
    individual.psi = psi;
    individuals_.push_back(std::move(individual));
  }
  if (fitted.exact && fitted.bits < tidied_) tidy(fitted);
  const LogTarget* logarithm = psi.size() == 1 ? log_target(psi[0]) : nullptr;
  if (logarithm != nullptr)
    propose_as_product(fitted, logarithm->plain, {},
                       fitted.exact ? kExactExponent : kNoisyExponent);
  return fitted;
}

// An exact law may have been found in roundabout terms: powers of its features alone are tried.
void Guide::tidy(const Law& law) {
  tidied_ = law.bits;
  std::vector<int> used;
  for (const int f : features_)
    if (std::any_of(law.phi.begin(), law.phi.end(), [f](const Basis& phi) {
          return std::any_of(phi.begin(), phi.end(), [f](const Row& row) {
            return std::any_of(row.variables.begin(), row.variables.end(),
                               [f](std::int16_t v) { return std::abs(v) == f; });
          });
        }))
      used.push_back(f);
  if (used.empty() || law.psi.size() != 1) return;
  for (const WholeSet& set : power_sets(problem_.table, used, kColumns)) {
    std::vector<Basis> bases;
    for (const Trees& factors : set) add_basis(factors, bases);
    propose({law.psi[0]}, bases, true);
  }
}

// ---- sublibraries solved whole ---------------------------------------------------------------

void Guide::plan_sublibraries() {
  const auto n = static_cast<std::size_t>(problem_.x.n_rows());
  const std::size_t most = std::min<std::size_t>(kColumns, n * 3 / 5);
  for (const WholeSet& set : whole_sublibraries(problem_.table, features_, most))
    work_.emplace_back([this, set] {
      for (const Goal& goal : goals_)
        if (goal.partner.size == 0 && goal.prefactor.empty()) propose_set(goal, set);
      return 2.0 * static_cast<double>(goals_.size());
    });
  for (const Monomial& prefactor : prefactors_) {
    std::vector<int> others;
    for (const int f : features_)
      if (std::none_of(prefactor.begin(), prefactor.end(), [f](const auto& p) { return p.first == f; }))
        others.push_back(f);
    const std::vector<WholeSet> sets = whole_sublibraries(problem_.table, others, most);
    work_.emplace_back([this, sets] {
      for (const Goal& goal : goals_)
        for (const WholeSet& set : sets)
          if (goal.partner.size == 0 && !goal.prefactor.empty()) propose_set(goal, set);
      return 4.0 * static_cast<double>(goals_.size());
    });
  }
}

void Guide::propose_set(const Goal& goal, const WholeSet& set) {
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<Basis> bases;
  if (!prefix.empty()) add_basis(prefix, bases);
  for (Trees factors : set) {
    factors.insert(factors.end(), prefix.begin(), prefix.end());
    add_basis(factors, bases);
  }
  if (!bases.empty()) propose({goal.psi}, bases, true);
}

// ---- scanning --------------------------------------------------------------------------------

double Guide::build_pools() {
  const Table& table = problem_.table;
  const Reach r = reach(level_, features_.size());
  candidates_ = std::make_unique<Candidates>(x_, table, settings_, features_, r);
  Columns ones(x_.n_rows(), 1);
  std::fill_n(ones[0], x_.n_rows(), 1.0);
  sum_pool_ = std::make_unique<ols::Pool>(candidates_->values(candidates_->terms()), ones);

  free_features_.clear();
  std::vector<Buffer> logs;
  const int ln = table.find("ln");
  for (const int f : features_) {
    Buffer column(static_cast<std::size_t>(x_.features.stride()), 0.0);
    bool finite = ln >= 0 && 3 * (free_features_.size() + 1) < static_cast<std::size_t>(x_.n_rows());
    for (Index i = 0; i < x_.n_rows() && finite; ++i) {
      column[static_cast<std::size_t>(i)] = std::log(std::abs(x_.features[f - 1][i]));
      finite = std::isfinite(column[static_cast<std::size_t>(i)]);
    }
    if (!finite) continue;
    free_features_.push_back(f);
    logs.push_back(std::move(column));
  }
  free_.resize(x_.n_rows(), 1 + static_cast<Index>(logs.size()));
  std::fill_n(free_[0], x_.n_rows(), 1.0);
  for (std::size_t j = 0; j < logs.size(); ++j)
    std::copy(logs[j].begin(), logs[j].end(), free_[static_cast<Index>(j) + 1]);
  log_list_ = candidates_->logarithms();
  const std::vector<Candidate>& terms = candidates_->terms();
  // Exponentials of any monomial, and of the simpler other terms.
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (terms[k].atom < 0 || k < r.terms / 2) log_list_.push_back(terms[k]);
  std::stable_sort(log_list_.begin(), log_list_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  if (ln < 0) log_list_.clear();
  log_pool_ = std::make_unique<ols::Pool>(candidates_->values(log_list_), free_);
  return size_of(static_cast<double>(r.terms + log_list_.size()) * static_cast<double>(x_.n_rows()) *
                 (20.0 + 4.0 * static_cast<double>(free_.n_columns())));
}

double Guide::scan_sums(Goal& goal) {
  Buffer target;
  if (sum_pool_->prepare(goal.values.data(), target) == 0.0) return 1.0;
  Buffer partner;
  const Buffer* given = nullptr;
  if (goal.partner.size > 0 && sum_pool_->prepare(goal.partner_values.data(), partner) > 0.0)
    given = &partner;
  const auto place = static_cast<std::size_t>(&goal - goals_.data());
  const bool favoured = level_ == 0 || place < kFavoured;
  const int most = favoured ? depth(level_) : 2;
  const int width = favoured ? beam(level_) : 2;
  std::vector<ols::Choice> choices = sum_pool_->forward(target, most, width, given);
  std::size_t size = 0;
  for (ols::Choice& choice : choices) {
    if (choice.columns.size() == size && choice.rest > kNearlyExact) continue;  // best of its size
    if (choice.columns.size() != size && choice.columns.size() > 1)
      sum_pool_->swap(target, choice, 1, given);
    size = choice.columns.size();
    goal.promise = std::min(goal.promise, choice.rest);
    propose_sum(goal, choice);
  }
  if (given != nullptr && level_ < 2) propose_pairs_beside(goal);
  const double steps = most * (width * width + most);
  return size_of(steps * static_cast<double>(sum_pool_->size() * x_.n_rows()) * 2.0) + 10.0;
}

// Pairs of the cheaper terms beside a second psi.
void Guide::propose_pairs_beside(Goal& goal) {
  const std::vector<Candidate>& terms = candidates_->terms();
  const std::vector<Candidate> cheap(
      terms.begin(),
      terms.begin() + static_cast<std::ptrdiff_t>(std::min(terms.size(), kPairedBeside)));
  Columns free(x_.n_rows(), 2);
  std::fill_n(free[0], x_.n_rows(), 1.0);
  std::copy(goal.partner_values.begin(), goal.partner_values.end(), free[1]);
  ols::Pool pool(candidates_->values(cheap), free);
  Buffer target;
  if (pool.prepare(goal.values.data(), target) == 0.0) return;
  const auto n = static_cast<Index>(cheap.size());
  for (const auto& pairs : pool.pairs({target}, n, n, 4))
    for (const ols::Choice& pair : pairs) propose_sum(goal, pair);
}

void Guide::propose_sum(Goal& goal, const ols::Choice& choice) {
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<Basis> bases;
  if (!prefix.empty()) add_basis(prefix, bases);
  for (const Index j : choice.columns) {
    Trees factors = prefix;
    for (Tree& tree : candidates_->factors(candidates_->terms()[static_cast<std::size_t>(j)]))
      factors.push_back(std::move(tree));
    if (!add_basis(factors, bases)) return;
  }
  std::vector<Basis> psi{goal.psi};
  if (goal.partner.size > 0) psi.push_back(goal.partner);
  propose(psi, bases);
}

// All triples of the cheapest terms, or of the cheapest monomials.
double Guide::scan_triples(bool monomials) {
  const std::vector<Candidate>& terms = candidates_->terms();
  const std::size_t reach = level_ == 0 ? 120 : 300;
  std::vector<Candidate> few;
  std::vector<Index> places;
  for (std::size_t k = 0; k < terms.size() && few.size() < reach; ++k) {
    if (monomials && terms[k].atom >= 0) continue;
    few.push_back(terms[k]);
    places.push_back(static_cast<Index>(k));
  }
  Columns ones(x_.n_rows(), 1);
  std::fill_n(ones[0], x_.n_rows(), 1.0);
  ols::Pool pool(candidates_->values(few), ones);
  std::size_t n = 0;
  for (Goal& goal : goals_) {
    Buffer target;
    if (goal.partner.size > 0 || n++ >= kFavoured) continue;
    if (pool.prepare(goal.values.data(), target) == 0.0) continue;
    for (ols::Choice choice : pool.triples(target, pool.size(), 4)) {
      for (Index& j : choice.columns) j = places[static_cast<std::size_t>(j)];
      propose_sum(goal, choice);
    }
  }
  const auto size = static_cast<double>(few.size());
  return size_of(0.5 * kFavoured * size * size * size);
}

// Sums of functions of one feature each: functions of several distract from them.
double Guide::scan_separable_sums() {
  std::vector<Index> places;
  const std::vector<Candidate>& terms = candidates_->terms();
  std::vector<Candidate> separable;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (!candidates_->of_one_feature(terms[k])) continue;
    separable.push_back(terms[k]);
    places.push_back(static_cast<Index>(k));
  }
  Columns ones(x_.n_rows(), 1);
  std::fill_n(ones[0], x_.n_rows(), 1.0);
  ols::Pool pool(candidates_->values(separable), ones);
  std::size_t n = 0;
  for (Goal& goal : goals_) {
    Buffer target;
    if (goal.partner.size > 0 || n++ >= kFavoured) continue;
    if (pool.prepare(goal.values.data(), target) == 0.0) continue;
    for (ols::Choice choice : pool.forward(target, 4, beam(level_))) {
      for (Index& j : choice.columns) j = places[static_cast<std::size_t>(j)];
      propose_sum(goal, choice);
    }
  }
  return size_of(300.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 40.0;
}

double Guide::scan_separable_logarithms() {
  std::vector<Index> places;
  std::vector<Candidate> separable;
  for (std::size_t k = 0; k < log_list_.size(); ++k) {
    if (!candidates_->of_one_feature(log_list_[k])) continue;
    separable.push_back(log_list_[k]);
    places.push_back(static_cast<Index>(k));
  }
  ols::Pool pool(candidates_->values(separable), free_);
  std::size_t n = 0;
  for (LogGoal& goal : log_goals_) {
    Buffer target;
    if (!goal.prefactor.empty() || n++ >= kFavoured) continue;
    if (pool.size() == 0 || pool.prepare(goal.values.data(), target) == 0.0) continue;
    for (ols::Choice choice : pool.forward(target, 4, beam(level_))) {
      for (Index& j : choice.columns) j = places[static_cast<std::size_t>(j)];
      propose_product(goal, choice);
    }
  }
  return size_of(300.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 40.0;
}

// The same with weighted rows, which takes a pool of its own.
double Guide::scan_weighted_sums(Goal& goal) {
  Columns ones(x_.n_rows(), 1);
  std::fill_n(ones[0], x_.n_rows(), 1.0);
  ols::Pool pool(weighed(candidates_->values(candidates_->terms()), goal.weights),
                 weighed(ones, goal.weights));
  Buffer target, weighted_target = goal.values;
  for (std::size_t i = 0; i < weighted_target.size(); ++i) weighted_target[i] *= goal.weights[i];
  if (pool.prepare(weighted_target.data(), target) == 0.0) return 1.0;
  std::vector<ols::Choice> choices = pool.forward(target, depth(level_), beam(level_));
  std::size_t size = 1;
  for (ols::Choice& choice : choices) {
    if (choice.columns.size() > size) pool.swap(target, choice, 1);  // the best of its size
    size = choice.columns.size();
  }
  const Index first = std::min<Index>(pool.size(), 300);
  for (const auto& pairs : pool.pairs({target}, first, pair_reach(level_), 6))
    choices.insert(choices.end(), pairs.begin(), pairs.end());
  for (const ols::Choice& choice : choices) propose_sum(goal, choice);
  return size_of(150.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 60.0;
}

double Guide::scan_weighted_logarithms(LogGoal& goal) {
  ols::Pool pool(weighed(candidates_->values(log_list_), goal.weights), weighed(free_, goal.weights));
  Buffer target, weighted_target = goal.values;
  for (std::size_t i = 0; i < weighted_target.size(); ++i) weighted_target[i] *= goal.weights[i];
  propose_product(goal, {});
  if (pool.prepare(weighted_target.data(), target) == 0.0) return 1.0;
  std::vector<ols::Choice> choices = pool.forward(target, 3, 2 * beam(level_));
  const Index first = std::min<Index>(pool.size(), 300);
  for (const auto& pairs : pool.pairs({target}, first, pair_reach(level_), 6))
    choices.insert(choices.end(), pairs.begin(), pairs.end());
  for (const ols::Choice& choice : choices) propose_product(goal, choice);
  return size_of(100.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 60.0;
}

double Guide::scan_sum_pairs() {
  std::vector<Buffer> targets;
  std::vector<Goal*> owners;
  for (Goal& goal : goals_) {
    Buffer target;
    if (goal.partner.size > 0 || (level_ > 0 && owners.size() == kFavoured)) continue;
    if (sum_pool_->prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const auto best = sum_pool_->pairs(targets, pair_reach(level_), sum_pool_->size(), 4);
  for (std::size_t t = 0; t < owners.size(); ++t)
    for (const ols::Choice& pair : best[t]) propose_sum(*owners[t], pair);
  const double n = static_cast<double>(std::min(pair_reach(level_), sum_pool_->size()));
  return size_of(0.3 * n * static_cast<double>(sum_pool_->size()) * (static_cast<double>(x_.n_rows()) + 4.0 * static_cast<double>(targets.size())));
}

// ---- products --------------------------------------------------------------------------------

double Guide::scan_logarithms(LogGoal& goal) {
  Buffer target;
  const double left = log_pool_->prepare(goal.values.data(), target);
  propose_product(goal, {});
  if (left == 0.0 || log_pool_->size() == 0) return 2.0;
  std::size_t size = 0;
  for (const ols::Choice& choice : log_pool_->forward(target, 3, beam(level_))) {
    if (choice.columns.size() == size && choice.rest > kNearlyExact) continue;
    size = choice.columns.size();
    goal.promise = std::min(goal.promise, choice.rest);
    propose_product(goal, choice);
  }
  const double steps = 3.0 * beam(level_) * beam(level_);
  return size_of(steps * static_cast<double>(log_pool_->size() * x_.n_rows()) * 2.0) + 10.0;
}

double Guide::scan_log_pairs() {
  std::vector<Buffer> targets;
  std::vector<LogGoal*> owners;
  for (LogGoal& goal : log_goals_) {
    Buffer target;
    if (level_ > 0 && (!goal.prefactor.empty() || owners.size() == kFavoured)) continue;
    if (log_pool_->prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const auto best = log_pool_->pairs(targets, pair_reach(level_), log_pool_->size(), 4);
  for (std::size_t t = 0; t < owners.size(); ++t)
    for (const ols::Choice& pair : best[t]) propose_product(*owners[t], pair);
  const double n = static_cast<double>(std::min(pair_reach(level_), log_pool_->size()));
  return size_of(0.3 * n * static_cast<double>(log_pool_->size()) * (static_cast<double>(x_.n_rows()) + 4.0 * static_cast<double>(targets.size())));
}

void Guide::propose_product(LogGoal& goal, const ols::Choice& choice) {
  const Table& table = problem_.table;
  const int ln = table.find("ln");
  if (ln < 0) return;
  std::vector<Candidate> chosen;
  for (const Index j : choice.columns) chosen.push_back(log_list_[static_cast<std::size_t>(j)]);
  if (!goal.prefactor.empty()) {
    const bool exact = choice.rest < 1e-9;
    propose_as_product(fit_on_rows(goal, chosen), goal.target.plain, goal.prefactor,
                       exact ? 1e-3 : kNoisyExponent);
    return;
  }
  std::vector<Basis> bases;
  for (const int f : free_features_)
    add_basis({composition::apply(table, ln, monomial_tree(table, {{f, 1}}))}, bases);
  for (const Candidate& candidate : chosen)
    if (!add_basis(candidates_->factors(candidate), bases)) return;
  propose({goal.target.logarithm}, bases);
}

// ---- constants inside arguments --------------------------------------------------------------

Guide::Moving Guide::make_moving(const Parametric::Extent& extent, const Columns& free) const {
  Moving moving;
  moving.parametric = std::make_unique<Parametric>(x_, problem_.table, settings_, features_, extent);
  const Columns plain = candidates_->values(beside_);
  const auto n = plain.n_columns() + static_cast<Index>(moving.parametric->size());
  Columns columns(x_.n_rows(), n);
  for (Index j = 0; j < n; ++j) {
    if (j < plain.n_columns()) {
      std::copy_n(plain[j], plain.stride(), columns[j]);
    } else {
      moving.parametric->write(static_cast<std::size_t>(j - plain.n_columns()), columns[j]);
    }
  }
  moving.pool = std::make_unique<ols::Pool>(std::move(columns), free);
  return moving;
}

double Guide::build_moving_sums() {
  const std::size_t d = features_.size();
  const std::vector<Candidate>& terms = candidates_->terms();
  beside_.assign(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min<std::size_t>(terms.size(), 300)));
  Columns ones(x_.n_rows(), 1);
  std::fill_n(ones[0], x_.n_rows(), 1.0);
  const Parametric::Extent extent = level_ == 0   ? Parametric::Extent{2 * d, d, 8, false}
                                    : level_ == 1 ? Parametric::Extent{15 + 8 * d, 2 + 2 * d, 40, false}
                                                  : Parametric::Extent{20 + 10 * d, 6 + 3 * d, 160, false};
  moving_sums_ = make_moving(extent, ones);
  return size_of(static_cast<double>(moving_sums_.pool->size() * x_.n_rows()) * 60.0);
}

double Guide::build_moving_logarithms() {
  const std::size_t d = features_.size();
  const Parametric::Extent extent{level_ == 0 ? 3 * d : level_ == 1 ? 20 + 30 * d : 60 + 60 * d, 0,
                                  level_ == 0 ? 4 : 12, true};
  moving_logs_ = make_moving(extent, free_);
  return size_of(static_cast<double>(moving_logs_.pool->size() * x_.n_rows()) * 60.0);
}

// False if nothing chosen has a constant to move.
bool Guide::add_chosen(const Moving& moving, const ols::Choice& choice, const Trees& prefix,
                       std::vector<Basis>& bases) const {
  const auto plain = static_cast<Index>(beside_.size());
  bool moves = false;
  for (const Index j : choice.columns) {
    moves = moves || j >= plain;
    Trees factors = j >= plain ? moving.parametric->factors(static_cast<std::size_t>(j - plain))
                               : candidates_->factors(beside_[static_cast<std::size_t>(j)]);
    factors.insert(factors.end(), prefix.begin(), prefix.end());
    add_basis(factors, bases);
  }
  return moves;
}

double Guide::scan_parametric_sum(Goal& goal) {
  const ols::Pool& pool = *moving_sums_.pool;
  Buffer target;
  if (moving_sums_.pool->prepare(goal.values.data(), target) == 0.0) return 1.0;
  const bool favoured = static_cast<std::size_t>(&goal - goals_.data()) < kFavoured;
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<ols::Choice> choices = pool.forward(target, favoured ? 4 : 2, favoured ? 3 : 2);
  if (favoured) {
    const auto pairs = pool.pairs({target}, kPairedWithMoving, pool.size(), 4);
    choices.insert(choices.end(), pairs[0].begin(), pairs[0].end());
  }
  for (const ols::Choice& choice : choices) {
    std::vector<Basis> bases;
    if (!prefix.empty()) add_basis(prefix, bases);
    if (add_chosen(moving_sums_, choice, prefix, bases))
      propose_refined(goal.psi, bases);
  }
  return size_of(60.0 * static_cast<double>(pool.size() * x_.n_rows())) + 60.0;
}

double Guide::scan_parametric_logarithm(LogGoal& goal) {
  const ols::Pool& pool = *moving_logs_.pool;
  Buffer target;
  if (moving_logs_.pool->prepare(goal.values.data(), target) == 0.0) return 1.0;
  const Table& table = problem_.table;
  const bool favoured = static_cast<std::size_t>(&goal - log_goals_.data()) < kFavoured;
  for (const ols::Choice& choice : pool.forward(target, favoured ? 3 : 1, 3)) {
    std::vector<Basis> bases;
    for (const int f : free_features_)
      add_basis({composition::apply(table, table.find("ln"), monomial_tree(table, {{f, 1}}))}, bases);
    if (add_chosen(moving_logs_, choice, {}, bases))
      propose_refined(goal.target.logarithm, bases);
  }
  return size_of(40.0 * static_cast<double>(pool.size() * x_.n_rows())) + 60.0;
}

// Products of oscillations of two features in y.
double Guide::scan_two_frequencies(int first, int second) {
  const Table& table = problem_.table;
  if (goals_.empty() || table.find("sin") < 0 || table.find("cos") < 0) return 1.0;
  const Goal* plain = &goals_[0];
  for (const Goal& goal : goals_)
    if (goal.prefactor.empty() && goal.partner.size == 0 &&
        goal.psi.rows[0].transformation == problem_.target_table.identity() && goal.psi.size == 1)
      plain = &goal;
  const int cycles = 160;
  choose_rows(kFrequencyRows);
  Buffer target = values_of(plain->psi, y_, problem_.target_table);
  Eigen::Map<Vector> t(target.data(), x_.n_rows());
  t.array() -= t.mean();
  const TwoFrequencies found = strongest_product(x_.features[first - 1], x_.features[second - 1],
                                                 target.data(), x_.n_rows(), cycles);
  std::vector<Basis> bases;
  for (const char* of_first : {"cos", "sin"})
    for (const char* of_second : {"cos", "sin"}) {
      const auto wave = [&](const char* name, int f, double frequency) {
        return composition::apply(
            table, table.find(name),
            composition::scaled(table, monomial_tree(table, {{f, 1}}), frequency));
      };
      add_basis({wave(of_first, first, found.first), wave(of_second, second, found.second)}, bases);
    }
  propose_refined(plain->psi, bases);
  choose_rows(rows_at(level_, problem_.x.n_features()));
  const double n = static_cast<double>(kFrequencyRows);
  return size_of(0.3 * 16.0 * cycles * cycles * 8.0 * n);
}

// First on the rows that were scanned, then on all.
void Guide::propose_refined(const Basis& psi, std::vector<Basis> bases) {
  const Buffer few = values_of(psi, y_, problem_.target_table);
  const Buffer all = values_of(psi, problem_.y, problem_.target_table);
  if (few.empty() || all.empty()) return;
  const double left = Refiner(x_, problem_.table).improve(few.data(), bases, 12);
  if (!(left < 0.5)) return;
  Refiner(problem_.x, problem_.table).improve(all.data(), bases, left < 1e-4 ? 20 : 4);
  propose({psi}, bases);
}

// The sum of logarithms fitted on the scanned rows.
Law Guide::fit_on_rows(const LogGoal& goal, const std::vector<Candidate>& chosen) const {
  const Table& table = problem_.table;
  const int ln = table.find("ln");
  const Columns extra = candidates_->values(chosen);
  Orthogonalizer qr;
  qr.reset(x_.n_rows(), free_.n_columns() + extra.n_columns());
  for (Index j = 0; j < free_.n_columns(); ++j) qr.push(free_[j], 0.0);
  for (Index j = 0; j < extra.n_columns(); ++j) qr.push(extra[j], 0.0);
  Law law;
  if (qr.size() != free_.n_columns() + extra.n_columns()) return law;
  Buffer rest = goal.values;
  Vector projected(qr.size()), alpha(qr.size());
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), alpha.data());
  for (std::size_t k = 0; k < free_features_.size(); ++k)
    if (add_basis({composition::apply(table, ln, monomial_tree(table, {{free_features_[k], 1}}))},
                  law.phi))
      law.alpha.push_back(alpha(static_cast<Index>(k) + 1));
  for (std::size_t k = 0; k < chosen.size(); ++k)
    if (add_basis(candidates_->factors(chosen[k]), law.phi))
      law.alpha.push_back(alpha(free_.n_columns() + static_cast<Index>(k)));
  return law;
}

// p (1 + product) has the terms p and p times the product.
bool Guide::propose_as_product(const Law& law, const Basis& plain, const Monomial& prefactor,
                               double tolerance) {
  Trees factors;
  if (!product_factors(law, tolerance, factors) || factors.empty()) return false;
  std::vector<Basis> bases;
  if (!prefactor.empty()) {
    const Tree tree = monomial_tree(problem_.table, prefactor);
    if (!add_basis({tree}, bases)) return false;
    factors.push_back(tree);
  }
  if (!add_basis(factors, bases)) return false;
  propose({plain}, bases);
  return true;
}

// exp of the law's terms: powers where they are logarithms, exponentials where not.
bool Guide::product_factors(const Law& law, double tolerance, Trees& factors) const {
  const Table& table = problem_.table;
  const int ln = table.find("ln");
  const int exp = table.find("exp");
  std::map<int, int> halves_of;
  for (std::size_t k = 0; k < law.phi.size(); ++k) {
    if (is_constant(law.phi[k], table)) continue;
    const Trees term = composition::factors(law.phi[k]);
    int halves = 0;
    const bool simple = snapped(law.alpha[k], tolerance, halves);
    if (term.size() == 1 && term[0].transformation == ln) {
      if (!simple) return false;
      Tree inside = composition::argument(table, term[0]);
      if (composition::is_monomial(table, inside)) {
        for (const composition::Operand& operand : inside.operands)
          halves_of[std::abs(operand.feature)] += operand.feature > 0 ? halves : -halves;
      } else if (!power_factors(table, inside, halves, factors)) {
        return false;
      }
      continue;
    }
    if (exp < 0) return false;
    const bool unit = simple && std::abs(halves) == 2;
    const Tree argument = composition::product(table, term);
    Tree factor = composition::apply(
        table, exp, unit ? argument : composition::scaled(table, argument, law.alpha[k]));
    factors.push_back(unit && halves < 0 ? composition::reciprocal(std::move(factor)) : factor);
  }
  Monomial whole, root;
  for (const auto& [f, halves] : halves_of) {
    if (halves / 2 != 0) whole.emplace_back(f, halves / 2);
    if (halves % 2 != 0) root.emplace_back(f, halves % 2);
  }
  if (!whole.empty()) factors.push_back(monomial_tree(table, whole));
  if (root.empty()) return true;
  if (table.find("sqrt") < 0) return false;
  factors.push_back(composition::apply(table, table.find("sqrt"), monomial_tree(table, root)));
  return true;
}

}  // namespace gsr

#include "gsr/guide.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gsr/interrupt.hpp"
#include "gsr/random.hpp"
#include "guide_limits.hpp"
#include "pursuit_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

constexpr std::size_t kMostFeatures = 10;  // combined with each other
constexpr int kBins = 8;
constexpr Index kWeightedRows = 300;
constexpr double kLeastWeight = 0.1;  // square root, relative to the median
constexpr double kAnyBits = 1e9;
constexpr double kPairOperations = 3e9;
constexpr double kIdle = 2000.0;  // individuals until the next look for something to do

// Rows whose weight is not far below that of most.
std::vector<Index> rows_that_count(const Buffer& roots, Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  if (roots.empty()) return rows;
  std::vector<double> sorted(roots.begin(), roots.begin() + n);
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.end());
  const double least = kLeastWeight * sorted[static_cast<std::size_t>(n / 2)];
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](Index i) { return roots[static_cast<std::size_t>(i)] < least; }),
             rows.end());
  return rows;
}

std::vector<Index> spread_rows(std::vector<Index> rows, Index wanted, std::uint64_t seed) {
  const auto n = static_cast<Index>(rows.size());
  if (wanted >= n) return rows;
  Random random(seed, 17, 0);
  for (Index i = 0; i < wanted; ++i)
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(
                  random.integer(static_cast<int>(i), static_cast<int>(n) - 1))]);
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

}  // namespace

Guide::Guide(const Problem& problem, std::size_t max_bytes)
    : problem_(problem), settings_(problem.settings), solver_(problem, max_bytes, kColumns, 2) {
  choose_rows(problem.x.n_rows());
  rank_features();
  plan_stage();
}

double Guide::step(Archive& archive) {
  archive_ = &archive;
  while (work_.empty() && stage_ < kStages.size())
    if (++stage_ < kStages.size()) plan_stage();
  const long before = evaluations_;
  const double tidied = tidied_;
  try {
    if (work_.empty()) return look_around();
    return neighbours_are_due() ? look_at_some_neighbours() : do_task();
  } catch (const Interrupted&) {  // it is begun anew
    evaluations_ = before;
    tidied_ = tidied;
    individuals_.clear();
    throw;
  }
}

double Guide::do_task() {
  idle_ = false;
  const double size = std::max(1.0, work_.front().run());
  work_.pop_front();
  ++n_done_;
  since_neighbours_ += size;
  return size;
}

bool Guide::pursuits_done() const {
  const auto first = kStages.begin() + static_cast<std::ptrdiff_t>(stage_);
  return std::none_of(std::min(first, kStages.end()), kStages.end(),
                      [](const Stage& stage) { return stage.look == Look::pursuit; });
}

double Guide::look_around() {
  const std::size_t before = extended_.size();
  const double size = scan_neighbours(kRounds);
  idle_ = extended_.size() == before;
  return idle_ ? kIdle : size;
}

double Guide::size_of(double operations) const {
  return operations / (300.0 * static_cast<double>(problem_.x.n_rows()) + 4e4);
}

// ---- rows and features -----------------------------------------------------------------------

// Rows of little weight disturb where scans know no weights.
void Guide::choose_rows(Index n, bool light_ones) {
  const Buffer& roots = problem_.row_weights;
  const std::vector<Index> chosen =
      spread_rows(rows_that_count(light_ones ? Buffer() : roots, problem_.x.n_rows()), n,
                  settings_.scan_seed);
  x_.features = take_rows(problem_.x.features, chosen);
  y_.features = take_rows(problem_.y.features, chosen);
  row_weights_.clear();
  if (roots.empty()) return;
  row_weights_.assign(static_cast<std::size_t>(x_.features.stride()), 0.0);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    row_weights_[i] = roots[static_cast<std::size_t>(chosen[i])];
}

Columns Guide::free_columns() const {
  const std::vector<Basis>& required = problem_.constraints.required;
  Columns free(x_.n_rows(), 1 + static_cast<Index>(required.size()));
  std::fill_n(free[0], x_.n_rows(), 1.0);
  for (std::size_t k = 0; k < required.size(); ++k) {
    const Buffer values = values_of(required[k], x_, problem_.table);
    std::copy(values.begin(), values.end(), free[static_cast<Index>(k) + 1]);
  }
  return free;
}

void Guide::rank_features() {
  const int d = problem_.x.n_features();
  std::vector<double> score;
  for (int f = 0; f < d; ++f)
    score.push_back(explained_by_bins(x_.features[f], y_.features[0], x_.n_rows()));
  for (int f = 1; f <= d; ++f) {
    const double* x = x_.features[f - 1];
    const auto [low, high] = std::minmax_element(x, x + x_.n_rows());
    if (*low < *high) features_.push_back(f);  // a constant feature explains nothing
  }
  if (features_.size() <= kMostFeatures) return;
  std::stable_sort(features_.begin(), features_.end(), [&](int a, int b) {
    return score[static_cast<std::size_t>(a - 1)] > score[static_cast<std::size_t>(b - 1)];
  });
  features_.resize(kMostFeatures);
}

Buffer Guide::values_of(const Basis& basis, const Dataset& data, const Table& table) const {
  Buffer out(static_cast<std::size_t>(data.features.stride()), 0.0);
  if (!Evaluator(data, table, std::size_t{1} << 20).evaluate(basis, out.data())) out.clear();
  return out;
}

Buffer Guide::monomial_values(const Monomial& monomial) const {
  Basis basis;
  if (!composition::write({monomial_tree(problem_.table, monomial)}, basis)) return {};
  return values_of(basis, x_, problem_.table);
}

// So many columns are paired with all that a step stays short: nothing interrupts it.
Index Guide::pairs_first(const ols::Pool& pool) const {
  const double each = static_cast<double>(std::max<Index>(pool.size(), 1) * x_.n_rows());
  return std::min({pool.size(), pair_reach(level_), static_cast<Index>(kPairOperations / each)});
}

// ---- plan ------------------------------------------------------------------------------------

void Guide::plan_stage() {
  const Stage& stage = kStages[stage_];
  n_planned_ = n_done_ = 0;
  candidates_.reset();  // they are on other rows
  level_ = stage.level;
  const bool weighted = stage.look == Look::weighted;
  solver_.weigh(weighted);
  const bool pursuit = stage.look == Look::pursuit;
  dictionary_.reset();
  const bool beside = stage.look == Look::beside;
  choose_rows(weighted  ? kWeightedRows
              : beside  ? kBesideRows
              : pursuit ? (level_ == 0 ? kPursuitRows : 2 * kPursuitRows)
                        : rows(level_, problem_.x.n_features()),
              pursuit);
  make_goals();
  if (weighted) weigh_goals();
  if (stage.look == Look::plain) plan_plain();
  if (weighted) plan_weighted();
  if (beside) plan_beside();
  if (pursuit && settings_.constants) plan_pursuit();
  if (stage.look == Look::moving && settings_.constants) plan_moving();
  if (stage.look == Look::plain) plan_together([this] { return scan_neighbours(kRounds); });
}

void Guide::plan_building(std::function<double()> run) { work_.push_back({std::move(run), true}); }

void Guide::plan_together(std::function<double()> run) { work_.push_back({std::move(run), false}); }

void Guide::plan_scanning(std::size_t number, std::function<double()> run) {
  if (is_mine(number)) plan_together(std::move(run));
}

void Guide::plan_scanning(std::function<double()> run) {
  plan_scanning(n_planned_++, std::move(run));
}

bool Guide::is_mine(std::size_t number) const {
  return number % static_cast<std::size_t>(settings_.n_shares) ==
         static_cast<std::size_t>(settings_.share);
}

// What is likely and cheap first: plain goals, pairs, then goals that few laws need.
void Guide::plan_plain() {
  if (level_ == 0) plan_sublibraries();
  plan_building([this] { return build_pools(); });
  if (problem_.constraints.restricts_units())
    for (Goal& goal : goals_)
      plan_scanning(goal.number, [this, &goal] { return scan_units(goal); });
  const auto unusual_sum = [](const Goal& goal) { return goal.partner.size > 0; };
  const auto unusual_log = [](const LogGoal& goal) { return !goal.prefactor.empty(); };
  for (std::size_t k = 0; k < std::max(goals_.size(), log_goals_.size()); ++k) {
    if (k < goals_.size() && !unusual_sum(goals_[k])) plan_scan(goals_[k]);
    if (k < log_goals_.size() && !unusual_log(log_goals_[k])) plan_scan(log_goals_[k]);
  }
  if (features_.size() > 1) {
    plan_scanning([this] { return scan_separable_sums(); });
    plan_scanning([this] { return scan_separable_logarithms(); });
  }
  plan_together([this] { return scan_sum_pairs(); });
  plan_together([this] { return scan_log_pairs(); });
  if (level_ < 2) {
    plan_scanning([this] { return scan_triples(true); });
    plan_scanning([this] { return scan_triples(false); });
  }
  plan_building([this] {
    simple_done_ = true;
    return 1.0;
  });
  for (Goal& goal : goals_)
    if (unusual_sum(goal)) plan_scan(goal);
  for (LogGoal& goal : log_goals_)
    if (unusual_log(goal)) plan_scan(goal);
  const bool waves = level_ == 1 && settings_.constants;
  const std::size_t m = waves ? std::min<std::size_t>(features_.size(), 3) : 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = i + 1; j < m; ++j)
      plan_scanning([this, i, j] { return scan_two_frequencies(features_[i], features_[j]); });
}

void Guide::plan_weighted() {
  plan_building([this] { return build_pools(); });
  const std::size_t most = level_ == 0 ? goals_.size() : n_favoured();
  for (std::size_t k = 0; k < most; ++k) {
    if (k < goals_.size() && goals_[k].partner.size == 0)
      plan_scanning(goals_[k].number, [this, k] { return scan_weighted_sums(goals_[k]); });
    if (k < log_goals_.size() && log_goals_[k].prefactor.empty())
      plan_scanning(log_goals_[k].number,
                    [this, k] { return scan_weighted_logarithms(log_goals_[k]); });
  }
}

void Guide::plan_scan(Goal& goal) {
  plan_scanning(goal.number, [this, &goal] { return scan_sums(goal); });
}

void Guide::plan_scan(LogGoal& goal) {
  plan_scanning(goal.number, [this, &goal] { return scan_logarithms(goal); });
}

void Guide::plan_moving() {
  plan_building([this] { return build_pools(); });
  plan_building([this] { return build_moving_sums(); });
  plan_building([this] { return build_moving_logarithms(); });
  for (std::size_t k = 0; k < n_favoured(); ++k) {
    if (k < goals_.size() && goals_[k].partner.size == 0)
      plan_scanning(goals_[k].number, [this, k] { return scan_parametric_sum(goals_[k]); });
    if (k < log_goals_.size() && log_goals_[k].prefactor.empty())
      plan_scanning(log_goals_[k].number,
                    [this, k] { return scan_parametric_logarithm(log_goals_[k]); });
  }
}

void Guide::plan_sublibraries() {
  const auto n = static_cast<std::size_t>(problem_.x.n_rows());
  const std::size_t most = std::min<std::size_t>(kColumns, n * 3 / 5);
  for (const WholeSet& set : whole_sublibraries(problem_.table, features_, most))
    plan_scanning([this, set] {
      for (const Goal& goal : goals_)
        if (goal.partner.size == 0 && goal.prefactor.empty()) propose_set(goal, set);
      return 2.0 * static_cast<double>(goals_.size());
    });
  for (const Monomial& prefactor : prefactors_) {
    std::vector<int> others;
    for (const int f : features_)
      if (std::none_of(prefactor.begin(), prefactor.end(),
                       [f](const auto& p) { return p.first == f; }))
        others.push_back(f);
    const std::vector<WholeSet> sets = whole_sublibraries(problem_.table, others, most);
    plan_scanning([this, sets] {
      for (const Goal& goal : goals_)
        for (const WholeSet& set : sets)
          if (goal.partner.size == 0 && !goal.prefactor.empty()) propose_set(goal, set);
      return 4.0 * static_cast<double>(goals_.size());
    });
  }
}

// ---- proposals -------------------------------------------------------------------------------

bool Guide::add_basis(const Trees& factors, std::vector<Basis>& out) const {
  for (const Tree& tree : factors)
    if (!composition::allowed(tree, problem_.table, settings_)) return false;
  Basis basis;
  if (!composition::write(factors, basis)) return false;
  out.push_back(canonical(basis, problem_.table, kMaxVariables));
  return true;
}

bool Guide::admits_target(const Basis& psi) const {
  return problem_.constraints.admits_target(psi, problem_.target_table);
}

// Whether f(c tree) is allowed for a real constant c.
bool Guide::may_carry_constant(const Tree& tree) const {
  if (!composition::allowed(tree, problem_.table, settings_)) return false;
  if (!problem_.constraints.restricts_bases()) return true;
  Basis basis;
  if (!composition::write({tree}, basis)) return false;
  if (!problem_.constraints.admits(basis, problem_.table)) return false;
  return !problem_.constraints.restricts_units() ||
         problem_.constraints.dimension(basis, problem_.table)->is_one();
}

const LogTarget* Guide::log_target(const Basis& psi) const {
  for (const LogGoal& goal : log_goals_)
    if (goal.target.logarithm == psi) return &goal.target;
  return nullptr;
}

// Beside the constant.
std::size_t Guide::n_terms(const Law& law) const {
  return static_cast<std::size_t>(
      std::count_if(law.phi.begin(), law.phi.end(),
                    [&](const Basis& phi) { return !is_constant(phi, problem_.table); }));
}

// A law for a logarithm is tried as a product too, which says the same better.
Law Guide::propose(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool whole,
                   std::size_t least_terms) {
  stop_if_asked();
  ++evaluations_;
  if (!admits_target(psi[0])) {
    const LogTarget* target = log_target(psi[0]);
    if (target != nullptr) propose_product_only(*target, phi);
    return {};
  }
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
    if (std::isfinite(law.rmse) && n_terms(law) >= least_terms) archive_->offer(law);
  if (psi.size() == 1) {
    individual.phi = solver_.phi().bases();
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

}  // namespace gsr

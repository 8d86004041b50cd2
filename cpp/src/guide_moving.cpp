#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "gsr/guide.hpp"
#include "gsr/interrupt.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

constexpr Index kFrequencyRows = 768;
constexpr Index kPairedWithMoving = 64;
constexpr std::size_t kFavouredMoving = 4;
constexpr std::size_t kFamilies = 8;
constexpr std::size_t kProposed = 4;
constexpr int kSteps = 16;
constexpr double kHopeless = 0.7;
constexpr std::size_t kManyOfAFamily = 600;
constexpr std::size_t kBesidePlain = 4;

}  // namespace

Guide::Moving Guide::make_moving(const Parametric::Extent& extent, const Columns& free) const {
  Moving moving;
  moving.parametric = std::make_unique<Parametric>(
      x_, problem_.table, [this](const Tree& tree) { return may_carry_constant(tree); }, features_,
      extent);
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
  const Parametric::Extent extent = level_ == 0 ? Parametric::Extent{2 * d, d, 8, false}
                                    : level_ == 1
                                        ? Parametric::Extent{15 + 8 * d, 2 + 2 * d, 40, false}
                                        : Parametric::Extent{20 + 10 * d, 6 + 3 * d, 160, false};
  moving_sums_ = {};
  moving_sums_ = make_moving(extent, free_columns());
  return size_of(static_cast<double>(moving_sums_.pool->size() * x_.n_rows()) * 60.0);
}

double Guide::build_moving_logarithms() {
  const std::size_t d = features_.size();
  const Parametric::Extent extent{level_ == 0   ? 3 * d
                                  : level_ == 1 ? 20 + 30 * d
                                                : 60 + 60 * d,
                                  0, level_ == 0 ? 4 : 12, true};
  moving_logs_ = {};
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

// What looks best on the grid is often not what is best once its constant has moved, so each family
// of functions is represented, alone and beside a plain candidate.
std::vector<ols::Choice> Guide::moving_choices(const Moving& moving, const Buffer& target, int most,
                                               bool favoured) const {
  const ols::Pool& pool = *moving.pool;
  const auto plain = static_cast<Index>(beside_.size());
  std::vector<ols::Choice> choices = pool.forward(target, most, favoured ? 3 : 2);
  if (!favoured) return choices;
  const auto add_families = [&](const std::vector<ols::Choice>& found) {
    std::set<std::pair<Index, long>> seen;
    for (const ols::Choice& choice : found) {
      if (choice.columns.back() < plain || seen.size() == kFamilies) continue;
      const long family =
          moving.parametric->family(static_cast<std::size_t>(choice.columns.back() - plain));
      const Index beside = choice.columns.size() > 1 ? choice.columns[0] : -1;
      if (seen.emplace(beside, family).second) choices.push_back(choice);
    }
  };
  add_families(pool.singles(target, kManyOfAFamily));
  add_families(pool.pairs({target}, std::min(kPairedWithMoving, plain), pool.size(), 64)[0]);
  std::vector<ols::Choice> best_plain = pool.singles(target, kManyOfAFamily);
  best_plain.erase(std::remove_if(best_plain.begin(), best_plain.end(),
                                  [&](const ols::Choice& c) { return c.columns[0] >= plain; }),
                   best_plain.end());
  if (best_plain.size() > kBesidePlain) best_plain.resize(kBesidePlain);
  for (const ols::Choice& first : best_plain) {
    const double* column = pool.column(first.columns[0]);
    const Buffer given(column, column + target.size());
    std::vector<ols::Choice> beside = pool.singles(target, kManyOfAFamily, &given);
    for (ols::Choice& choice : beside)
      choice.columns.insert(choice.columns.begin(), first.columns[0]);
    add_families(beside);
  }
  return choices;
}

double Guide::scan_parametric_sum(Goal& goal) {
  const ols::Pool& pool = *moving_sums_.pool;
  Buffer target;
  if (moving_sums_.pool->prepare(goal.values.data(), target) == 0.0) return 1.0;
  const bool favoured = static_cast<std::size_t>(&goal - goals_.data()) < kFavouredMoving;
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<std::vector<Basis>> sets;
  for (const ols::Choice& choice :
       moving_choices(moving_sums_, target, favoured ? 4 : 2, favoured)) {
    std::vector<Basis> bases;
    if (!prefix.empty()) add_basis(prefix, bases);
    if (add_chosen(moving_sums_, choice, prefix, bases)) sets.push_back(std::move(bases));
  }
  propose_refined(goal.psi, sets);
  return size_of(60.0 * static_cast<double>(pool.size() * x_.n_rows())) + 60.0;
}

double Guide::scan_parametric_logarithm(LogGoal& goal) {
  const ols::Pool& pool = *moving_logs_.pool;
  Buffer target;
  if (moving_logs_.pool->prepare(goal.values.data(), target) == 0.0) return 1.0;
  const Table& table = problem_.table;
  const bool favoured = static_cast<std::size_t>(&goal - log_goals_.data()) < kFavouredMoving;
  std::vector<std::vector<Basis>> sets;
  for (const ols::Choice& choice :
       moving_choices(moving_logs_, target, favoured ? 3 : 1, favoured)) {
    std::vector<Basis> bases;
    for (const int f : free_features_)
      add_basis({composition::apply(table, table.find("ln"), monomial_tree(table, {{f, 1}}))},
                bases);
    if (add_chosen(moving_logs_, choice, {}, bases)) sets.push_back(std::move(bases));
  }
  propose_refined(goal.target.logarithm, sets);
  return size_of(40.0 * static_cast<double>(pool.size() * x_.n_rows())) + 60.0;
}

// Products of oscillations of two features in y.
double Guide::scan_two_frequencies(int first, int second) {
  const Table& table = problem_.table;
  if (goals_.empty() || table.find("sin") < 0 || table.find("cos") < 0) return 1.0;
  const Goal* plain = &goals_[0];
  for (const Goal& goal : goals_)
    if (goal.prefactor.empty() && goal.partner.size == 0 &&
        goal.psi.rows[0].transformation == problem_.target_table.identity() &&
        goal.psi.rows[0].argument == ArgumentType::variable && goal.psi.size == 1)
      plain = &goal;
  const int cycles = 160;
  choose_rows(kFrequencyRows);
  Buffer target = values_of(plain->psi, y_, problem_.target_table);
  if (target.empty()) {
    choose_rows(rows(level_, problem_.x.n_features()));
    return 1.0;
  }
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
  std::vector<std::vector<Basis>> sets{bases};
  for (const Basis& basis : bases) sets.push_back({basis});
  propose_refined(plain->psi, sets);
  choose_rows(rows(level_, problem_.x.n_features()));
  const double n = static_cast<double>(kFrequencyRows);
  return size_of(0.3 * 16.0 * cycles * cycles * 8.0 * n);
}

// All on the rows that were scanned, the best then on all rows.
void Guide::propose_refined(const Basis& psi, const std::vector<std::vector<Basis>>& sets) {
  const Buffer few = values_of(psi, y_, problem_.target_table);
  const Buffer all = values_of(psi, problem_.y, problem_.target_table);
  if (few.empty() || all.empty()) return;
  std::vector<std::pair<double, std::vector<Basis>>> refined;
  Refiner on_few(x_, problem_.table, row_weights_);
  for (std::vector<Basis> bases : sets) {
    stop_if_asked();
    const double left = on_few.improve(few.data(), bases, kSteps);
    if (left < kHopeless) refined.emplace_back(left, std::move(bases));
  }
  std::stable_sort(refined.begin(), refined.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (refined.size() > kProposed) refined.resize(kProposed);
  Refiner on_all(problem_.x, problem_.table, problem_.row_weights);
  for (auto& [left, bases] : refined) {
    on_all.improve(all.data(), bases, left < 1e-4 ? 20 : 4);
    propose({psi}, bases);
  }
}

}  // namespace gsr

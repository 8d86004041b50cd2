#include <algorithm>
#include <cmath>
#include <map>

#include "gsr/guide.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

// The half-integer that an exponent stands for, in halves; false if it stands for none.
bool snapped(double exponent, double tolerance, int& halves) {
  halves = static_cast<int>(std::lround(2.0 * exponent));
  return std::abs(halves) <= 16 && std::abs(exponent - 0.5 * halves) <= tolerance;
}

}  // namespace

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
    if (level_ > 0 && (!goal.prefactor.empty() || owners.size() == n_favoured())) continue;
    if (log_pool_->prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const auto best = log_pool_->pairs(targets, pairs_first(*log_pool_), log_pool_->size(), 4,
                                     {settings_.share, settings_.n_shares});
  for (std::size_t t = 0; t < owners.size(); ++t)
    for (const ols::Choice& pair : best[t]) propose_product(*owners[t], pair);
  const double n = static_cast<double>(pairs_first(*log_pool_)) / settings_.n_shares;
  return size_of(0.3 * n * static_cast<double>(log_pool_->size()) *
                 (static_cast<double>(x_.n_rows()) + 4.0 * static_cast<double>(targets.size())));
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

double Guide::scan_weighted_logarithms(LogGoal& goal) {
  ols::Pool pool(weighed(candidates_->values(log_list_), goal.weights),
                 weighed(free_, goal.weights));
  Buffer target, weighted_target = goal.values;
  for (std::size_t i = 0; i < weighted_target.size(); ++i) weighted_target[i] *= goal.weights[i];
  propose_product(goal, {});
  if (pool.prepare(weighted_target.data(), target) == 0.0) return 1.0;
  std::vector<ols::Choice> choices = pool.forward(target, 3, 2 * beam(level_));
  const Index first = std::min<Index>(pool.size(), 300);
  for (const auto& pairs : pool.pairs({target}, first, pair_reach(level_), 6))
    choices.insert(choices.end(), pairs.begin(), pairs.end());
  for (const ols::Choice& choice : frugal_choices(pool, target)) choices.push_back(choice);
  for (const ols::Choice& choice : choices) propose_product(goal, choice);
  return size_of(100.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 60.0;
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

// Where units forbid a law for a logarithm the product that it stands for may still be allowed.
void Guide::propose_product_only(const LogTarget& target, const std::vector<Basis>& phi) {
  Buffer rest = values_of(target.logarithm, problem_.y, problem_.target_table);
  if (rest.empty() || phi.empty()) return;
  Orthogonalizer qr;
  qr.reset(problem_.x.n_rows(), static_cast<Index>(phi.size()) + 1);
  Buffer ones(rest.size(), 0.0);
  std::fill_n(ones.begin(), problem_.x.n_rows(), 1.0);
  qr.push(ones.data(), 0.0);
  Law law;
  for (const Basis& basis : phi) {
    const Buffer values = values_of(basis, problem_.x, problem_.table);
    if (!values.empty() && qr.push(values.data())) law.phi.push_back(basis);
  }
  const double size = Eigen::Map<const Vector>(rest.data(), problem_.x.n_rows()).norm();
  Vector projected(qr.size()), alpha(qr.size());
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), alpha.data());
  for (Index j = 1; j < qr.size(); ++j) law.alpha.push_back(alpha(j));
  const double left = Eigen::Map<const Vector>(rest.data(), problem_.x.n_rows()).norm();
  propose_as_product(law, target.plain, {}, left < 1e-9 * size ? kExactExponent : kNoisyExponent);
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

#include <algorithm>
#include <cmath>

#include "gsr/guide.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

constexpr std::size_t kPairedBeside = 400;
constexpr double kFrugalGain = 0.97;
constexpr std::size_t kFrugalPaired = 4;
constexpr std::size_t kMostPoolBytes = std::size_t{96} << 20;

}  // namespace

double Guide::build_pools() {
  const Table& table = problem_.table;
  Reach r = reach(level_, features_.size());
  // The pools' share of the memory: columns of the rows that are scanned.
  const std::size_t most =
      kMostPoolBytes / (sizeof(double) * static_cast<std::size_t>(x_.features.stride()));
  r.atoms = std::min(r.atoms, most);
  r.terms = std::min(r.terms, most);
  sum_pool_.reset();
  log_pool_.reset();
  candidates_ =
      std::make_unique<Candidates>(x_, table, settings_, problem_.constraints, features_, r);
  sum_pool_ =
      std::make_unique<ols::Pool>(candidates_->values(candidates_->terms()), free_columns());

  free_features_.clear();
  std::vector<Buffer> logs;
  const int ln = table.find("ln");
  for (const int f : features_) {
    Buffer column(static_cast<std::size_t>(x_.features.stride()), 0.0);
    bool finite =
        ln >= 0 && 3 * (free_features_.size() + 1) < static_cast<std::size_t>(x_.n_rows());
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
  return size_of(static_cast<double>(r.terms + log_list_.size()) *
                 static_cast<double>(x_.n_rows()) *
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
  const bool favoured = level_ == 0 || place < n_favoured();
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

// The same among the terms whose unit is that of the goal.
double Guide::scan_units(Goal& goal) {
  const Constraints& known = problem_.constraints;
  if (goal.partner.size > 0 || !admits_target(goal.psi)) return 1.0;
  Dimension wanted = *known.target_dimension(goal.psi, problem_.target_table);
  for (const auto& [f, p] : goal.prefactor)
    wanted.add(known.units->features[static_cast<std::size_t>(f - 1)], -p);
  const std::vector<Candidate>& terms = candidates_->terms();
  std::vector<Candidate> fitting;
  std::vector<Index> places;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    Basis basis;
    if (!composition::write(candidates_->factors(terms[k]), basis)) continue;
    const auto dimension = known.dimension(basis, problem_.table);
    if (!dimension || !dimension->matches(wanted)) continue;
    fitting.push_back(terms[k]);
    places.push_back(static_cast<Index>(k));
  }
  ols::Pool pool(candidates_->values(fitting), free_columns());
  Buffer target;
  if (pool.size() == 0 || pool.prepare(goal.values.data(), target) == 0.0) return 1.0;
  std::vector<ols::Choice> choices = pool.forward(target, depth(level_), 2 * beam(level_));
  for (const auto& pairs : pool.pairs({target}, pairs_first(pool), pool.size(), 6))
    choices.insert(choices.end(), pairs.begin(), pairs.end());
  for (ols::Choice& choice : choices) {
    for (Index& j : choice.columns) j = places[static_cast<std::size_t>(j)];
    propose_sum(goal, choice);
  }
  return size_of(200.0 * static_cast<double>(pool.size() * x_.n_rows())) + 40.0;
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
  ols::Pool pool(candidates_->values(few), free_columns());
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
  ols::Pool pool(candidates_->values(separable), free_columns());
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

// Columns stand in the order of their cost: each is kept that explains more than all before it.
std::vector<ols::Choice> Guide::frugal(const ols::Pool& pool, const Buffer& target,
                                       const Buffer* given) const {
  std::vector<ols::Choice> all = pool.singles(target, static_cast<std::size_t>(pool.size()), given);
  std::sort(all.begin(), all.end(),
            [](const ols::Choice& a, const ols::Choice& b) { return a.columns[0] < b.columns[0]; });
  std::vector<ols::Choice> kept;
  for (const ols::Choice& choice : all)
    if (kept.empty() || choice.rest < kFrugalGain * kept.back().rest) kept.push_back(choice);
  return kept;
}

// Under noise many terms explain as much as the true one, and a scan for the best misses it: so the
// cheapest are proposed too, alone and in pairs.
std::vector<ols::Choice> Guide::frugal_choices(const ols::Pool& pool, const Buffer& target) const {
  if (pool.size() == 0) return {};
  const std::vector<ols::Choice> firsts = frugal(pool, target, nullptr);
  std::vector<ols::Choice> choices = firsts;
  const std::size_t n = std::min(firsts.size(), kFrugalPaired);
  for (std::size_t k = firsts.size() - n; k < firsts.size(); ++k) {
    const Index j = firsts[k].columns[0];
    const Buffer column(pool.column(j), pool.column(j) + target.size());
    for (const ols::Choice& second : frugal(pool, target, &column))
      choices.push_back({{j, second.columns[0]}, second.rest});
  }
  return choices;
}

// The same with weighted rows, which takes a pool of its own.
double Guide::scan_weighted_sums(Goal& goal) {
  ols::Pool pool(weighed(candidates_->values(candidates_->terms()), goal.weights),
                 weighed(free_columns(), goal.weights));
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
  for (const ols::Choice& choice : frugal_choices(pool, target)) choices.push_back(choice);
  for (const ols::Choice& choice : choices) propose_sum(goal, choice);
  return size_of(150.0 * static_cast<double>(pool.size() * x_.n_rows()) * 2.0) + 60.0;
}

double Guide::scan_sum_pairs() {
  std::vector<Buffer> targets;
  std::vector<Goal*> owners;
  for (Goal& goal : goals_) {
    Buffer target;
    if (goal.partner.size > 0 || (level_ > 0 && owners.size() == n_favoured())) continue;
    if (sum_pool_->prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const auto best = sum_pool_->pairs(targets, pairs_first(*sum_pool_), sum_pool_->size(), 4,
                                     {settings_.share, settings_.n_shares});
  for (std::size_t t = 0; t < owners.size(); ++t)
    for (const ols::Choice& pair : best[t]) propose_sum(*owners[t], pair);
  const double n = static_cast<double>(pairs_first(*sum_pool_)) / settings_.n_shares;
  return size_of(0.3 * n * static_cast<double>(sum_pool_->size()) *
                 (static_cast<double>(x_.n_rows()) + 4.0 * static_cast<double>(targets.size())));
}

}  // namespace gsr

#include "scans.hpp"

#include <algorithm>

#include "batch.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Columns stand in the order of their cost: each is kept that explains more than all before it.
std::vector<ols::Choice> frugal(const ols::Pool& pool, const Buffer& target, const Buffer* given) {
  std::vector<ols::Choice> all = pool.singles(target, pool.size(), given);
  std::sort(all.begin(), all.end(),
            [](const ols::Choice& a, const ols::Choice& b) { return a.columns[0] < b.columns[0]; });
  std::vector<ols::Choice> kept;
  for (const ols::Choice& choice : all)
    if (kept.empty() || choice.rest < kFrugalGain * kept.back().rest) kept.push_back(choice);
  return kept;
}

// Under noise many terms explain as much as the true one, and a scan for the best misses it: so the
// cheapest are proposed too, alone and in pairs.
std::vector<ols::Choice> frugal_choices(const ols::Pool& pool, const Buffer& target) {
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

void append(std::vector<ols::Choice>& choices, const std::vector<ols::Choice>& more) {
  choices.insert(choices.end(), more.begin(), more.end());
}

// Exchanges columns in the best choice of each size, from two columns on.
void swap_best(const ols::Pool& pool, const Buffer& target, std::vector<ols::Choice>& choices) {
  std::size_t size = 1;
  for (ols::Choice& choice : choices) {
    if (choice.columns.size() > size) pool.swap(target, choice, kSwapPasses);
    size = choice.columns.size();
  }
}

bool has_unit(const std::vector<Tree>& factors, const Dimension& wanted, const Problem& problem) {
  Basis basis;
  if (!composition::write(factors, basis)) return false;
  const auto dimension = problem.constraints.dimension(basis, problem.table);
  return dimension && dimension->matches(wanted);
}

}  // namespace

Index Scanner::n_favoured() const {
  return sample_.problem.settings.n_shares > 1 ? kFavouredByIslands : kFavoured;
}

Index Scanner::n_paired(const ols::Pool& pool) const {
  const double each = static_cast<double>(std::max<Index>(pool.size(), 1) * sample_.n_rows());
  return std::min(
      {pool.size(), pair_reach(sample_.level), static_cast<Index>(kPairOperations / each)});
}

Beam Scanner::beam_of(const Goal& goal) const {
  if (goal.form == Form::product) return product_beam(sample_.level);
  return sum_beam(sample_.level, sample_.level == 0 || goals_.place(goal) < n_favoured());
}

double Scanner::forward(Space& space, Goal& goal) {
  ols::Pool& pool = space.pool;
  const bool product = goal.form == Form::product;
  Buffer target, partner;
  const double left = pool.prepare(goal.values.data(), target);
  if (product) space.propose(goal, {}, proposer_);
  if (left == 0.0) return product ? kFreeTermsAlone : kNothingToScan;
  if (product && pool.size() == 0) return kFreeTermsAlone;
  const bool beside = goal.has_partner() && pool.prepare(goal.partner_values.data(), partner) > 0.0;
  const Buffer* given = beside ? &partner : nullptr;
  const Beam beam = beam_of(goal);
  std::size_t size = 0;
  for (ols::Choice& choice : pool.forward(target, beam.depth, beam.width, given)) {
    const bool best_of_size = choice.columns.size() != size;
    if (!best_of_size && choice.rest > kNearlyExact) continue;
    size = choice.columns.size();
    if (beam.swaps && best_of_size && size > 1) pool.swap(target, choice, kSwapPasses, given);
    proposer_.note_promise(goal, choice.rest);
    space.propose(goal, choice, proposer_);
  }
  if (beside && sample_.level < kPartnerPairLevels) pairs_beside_partner(space, goal);
  const int steps = beam.depth * (beam.width * beam.width + (beam.swaps ? beam.depth : 0));
  return sample_.work_of({kForwardWork.operations * steps, kForwardWork.proposals}, pool.size());
}

// A short exact law is known.
bool Scanner::solved() const {
  const Law* known = proposer_.archive().best_exact();
  return known != nullptr && known->bits <= kShortExactLaw;
}

double Scanner::nearly_exact(Space& space, Goal& goal) {
  Buffer target;
  if (solved() || space.size() == 0 || space.pool.prepare(goal.values.data(), target) == 0.0)
    return kNothingToScan;
  const Beam beam = product_beam(sample_.level);
  bool found = false;
  const auto propose = [&](const ols::Choice& choice) {
    if (choice.rest >= kLeftByExactProduct) return;
    space.propose(goal, choice, proposer_);
    found = true;
  };
  for (const ols::Choice& choice : space.pool.forward(target, beam.depth, beam.width))
    propose(choice);
  if (!found && goal.form == Form::product && goal.is_plain())
    for (const ols::Choice& first :
         space.pool.singles(target, static_cast<std::size_t>(beam.width)))
      for (const ols::Choice& three : with_pairs(space, goal, first)) propose(three);
  return sample_.work_of(kDeepWork, space.size());
}

double Scanner::nearly_exact_singles(const Space& space, const std::vector<Goal>& goals) {
  if (solved()) return kNothingToScan;
  std::vector<Buffer> targets;
  std::vector<const Goal*> owners;
  for (const Goal& goal : goals) {
    Buffer target;
    if (space.size() == 0 || space.pool.prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const std::vector<ols::Choice> best = space.pool.singles(targets);
  for (std::size_t k = 0; k < owners.size(); ++k)
    if (best[k].rest < kLeftByExactProduct) space.propose(*owners[k], best[k], proposer_);
  return sample_.work_of({kGlancedWork * static_cast<double>(targets.size()), 1.0}, space.size());
}

double Scanner::of_known_rows(Space& space, const Goal& goal) {
  Buffer target;
  if (space.size() == 0 || space.pool.prepare(goal.values.data(), target) == 0.0)
    return kNothingToScan;
  const Beam beam = product_beam(sample_.level);
  for (const ols::Choice& choice : space.pool.forward(target, beam.depth, beam.width))
    if (choice.rest < kLeftByExactProduct) space.propose_by_pool(goal, choice, proposer_);
  return sample_.work_of(kDeepWork, space.size());
}

double Scanner::nearly_exact_pairs(Space& space, const std::vector<Goal>& goals) {
  std::vector<Buffer> targets;
  std::vector<const Goal*> owners;
  for (const Goal& goal : goals) {
    Buffer target;
    if (goal.is_unusual() || space.pool.prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const Index first = std::min(kDeepFirst, space.size());
  const auto best = space.pool.pairs(targets, first, space.size(), 1);
  for (std::size_t k = 0; k < owners.size(); ++k)
    for (const ols::Choice& pair : best[k])
      if (pair.rest < kLeftByExactProduct) space.propose(*owners[k], pair, proposer_);
  return sample_.work_of(kDeepPairWork * static_cast<double>(first) *
                         static_cast<double>(space.size()));
}

// Two factors that hide each other show beside a third one.
std::vector<ols::Choice> Scanner::with_pairs(const Space& space, const Goal& goal,
                                             const ols::Choice& first) const {
  const Columns& free = space.free.columns;
  Columns columns(sample_.n_rows(), free.n_columns() + 1);
  for (Index j = 0; j < free.n_columns(); ++j) std::copy_n(free[j], free.stride(), columns[j]);
  std::copy_n(space.pool.column(first.columns[0]), free.stride(), columns[free.n_columns()]);
  const Space cheap = space.beside({std::move(columns), {}}, kPairedDeep);
  Buffer target;
  if (cheap.pool.prepare(goal.values.data(), target) == 0.0) return {};
  std::vector<ols::Choice> out = cheap.pool.pairs(target, cheap.size(), cheap.size(), kPairs);
  for (ols::Choice& choice : out) choice.columns.insert(choice.columns.begin(), first.columns[0]);
  return out;
}

// Pairs of the cheaper terms beside a second psi.
void Scanner::pairs_beside_partner(const Space& space, const Goal& goal) {
  Free free{Columns(sample_.n_rows(), 2), {}};
  std::fill_n(free.columns[0], sample_.n_rows(), 1.0);
  std::copy(goal.partner_values.begin(), goal.partner_values.end(), free.columns[1]);
  Space cheap = space.beside(std::move(free), kPairedBesidePartner);
  Buffer target;
  if (cheap.pool.prepare(goal.values.data(), target) == 0.0) return;
  for (const ols::Choice& pair : cheap.pool.pairs(target, cheap.size(), cheap.size(), kPairs))
    cheap.propose(goal, pair, proposer_);
}

// Unusual products are looked at on the first level only; unusual sums have scans of their own.
double Scanner::pairs(Space& space, const std::vector<Goal>& goals) {
  const bool first_level = sample_.level == 0;
  std::vector<Buffer> targets;
  std::vector<const Goal*> owners;
  for (const Goal& goal : goals) {
    Buffer target;
    if (goal.is_unusual() && (goal.form == Form::sum || !first_level)) continue;
    if (!first_level && ssize(owners) == n_favoured()) continue;
    if (space.pool.prepare(goal.values.data(), target) == 0.0) continue;
    targets.push_back(std::move(target));
    owners.push_back(&goal);
  }
  const Settings& settings = sample_.problem.settings;
  const Index first = n_paired(space.pool);
  const auto best =
      space.pool.pairs(targets, first, space.size(), kPairs, {settings.share, settings.n_shares});
  side_by_side(proposer_, ssize(owners), [&](int t) {
    for (const ols::Choice& pair : best[t]) space.propose(*owners[t], pair, proposer_);
    return 0.0;
  });
  return sample_.work_of(kPairWork * (static_cast<double>(first) / settings.n_shares) *
                         static_cast<double>(space.size()) *
                         (static_cast<double>(sample_.n_rows()) +
                          kPairGoalWork * static_cast<double>(targets.size())));
}

template <typename Choose>
void Scanner::propose_for_favoured(Space& space, const std::vector<Goal>& goals, Choose choose) {
  Index n = 0;
  for (const Goal& goal : goals) {
    Buffer target;
    if (goal.is_unusual() || n++ >= kFavoured) continue;
    if (space.pool.prepare(goal.values.data(), target) == 0.0) continue;
    for (const ols::Choice& choice : choose(target)) space.propose(goal, choice, proposer_);
  }
}

double Scanner::triples(const Space& space, const std::vector<Goal>& goals, bool monomials) {
  Space few =
      space.restricted([&](const Candidate& candidate) { return !monomials || candidate.atom < 0; },
                       triple_reach(sample_.level));
  propose_for_favoured(few, goals, [&](const Buffer& target) {
    return few.pool.triples(target, few.size(), few.size(), kTriples);
  });
  const auto size = static_cast<double>(few.size());
  return sample_.work_of(kTripleWork * kFavoured * size * size * size);
}

double Scanner::beside_two_cheap(Space& space, const std::vector<Goal>& goals) {
  propose_for_favoured(space, goals, [&](const Buffer& target) {
    return space.pool.triples(target, kCheapOfTriples, space.size(), kTriples);
  });
  return sample_.work_of(kTripleWork * kFavoured * static_cast<double>(space.size()) *
                         kCheapOfTriples * kCheapOfTriples);
}

double Scanner::separable(const Space& space, const std::vector<Goal>& goals) {
  Space some = space.restricted(
      [&](const Candidate& each) { return space.candidates().of_one_feature(each); });
  const Beam beam = separable_beam(sample_.level);
  propose_for_favoured(some, goals, [&](const Buffer& target) {
    return some.pool.forward(target, beam.depth, beam.width);
  });
  return sample_.work_of(kSeparableWork, some.size());
}

double Scanner::weighted(const Space& all, const Goal& goal) {
  const bool product = goal.form == Form::product;
  const auto [beam, work] =
      product ? weighted_products(sample_.level) : weighted_sums(sample_.level);
  Space space = all.weighed(goal.weights);
  Buffer target, weighted_target = goal.values;
  for (Index i = 0; i < ssize(weighted_target); ++i) weighted_target[i] *= goal.weights[i];
  if (product) space.propose(goal, {}, proposer_);
  if (space.pool.prepare(weighted_target.data(), target) == 0.0) return kNothingToScan;
  std::vector<ols::Choice> choices = space.pool.forward(target, beam.depth, beam.width);
  if (beam.swaps) swap_best(space.pool, target, choices);
  append(choices, space.pool.pairs(target, std::min(space.size(), kWeightedPaired),
                                   pair_reach(sample_.level), kPairsOfOneGoal));
  append(choices, frugal_choices(space.pool, target));
  for (const ols::Choice& choice : choices) space.propose(goal, choice, proposer_);
  return sample_.work_of(work, space.size());
}

double Scanner::of_same_unit(const Space& all, const Goal& goal) {
  const Problem& problem = sample_.problem;
  if (goal.has_partner() || !admits_target(problem, goal.psi)) return kNothingToScan;
  Dimension wanted = *problem.constraints.target_dimension(goal.psi, problem.target_table);
  for (const auto& [f, p] : goal.prefactor)
    wanted.add(problem.constraints.units->features[f - 1], -p);
  Space space = all.restricted([&](const Candidate& candidate) {
    return has_unit(all.candidates().factors(candidate), wanted, problem);
  });
  Buffer target;
  if (space.size() == 0 || space.pool.prepare(goal.values.data(), target) == 0.0)
    return kNothingToScan;
  const Beam beam = units_beam(sample_.level);
  std::vector<ols::Choice> choices = space.pool.forward(target, beam.depth, beam.width);
  append(choices, space.pool.pairs(target, n_paired(space.pool), space.size(), kPairsOfOneGoal));
  for (const ols::Choice& choice : choices) space.propose(goal, choice, proposer_);
  return sample_.work_of(kUnitsWork, space.size());
}

}  // namespace gsr::guide

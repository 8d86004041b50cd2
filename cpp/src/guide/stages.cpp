#include "stages.hpp"

#include <algorithm>

namespace gsr::guide {
namespace {

using namespace tuning;

std::vector<int> without_those_of(const Monomial& monomial, const std::vector<int>& features) {
  std::vector<int> out;
  for (const int f : features)
    if (std::none_of(monomial.begin(), monomial.end(),
                     [f](const auto& power) { return power.first == f; }))
      out.push_back(f);
  return out;
}

}  // namespace

Stages::Stages(const Problem& problem, std::size_t max_bytes, int n_threads)
    : sample(problem),
      proposer(problem, sample.features, goals, max_bytes, n_threads),
      plan(problem.settings),
      scanner(sample, goals, proposer),
      parametric(sample, goals, proposer),
      pursuits(sample, proposer),
      beside(sample, proposer),
      groups(sample, proposer),
      partial(sample, goals, scanner),
      rationals(sample, proposer),
      similarities(sample, goals, proposer),
      neighbours(sample, spaces, scanner, proposer,
                 [this](std::uint64_t number) { return plan.is_mine(number); }),
      problem_(problem) {
  const std::size_t first = next_from(0);
  simple_done = first > 0;
  begin(first);
}

std::size_t Stages::next_from(std::size_t number) const {
  const std::size_t done =
      std::min<std::size_t>(problem_.settings.plain_stages_done, kStages.size());
  while (number < done && !knows_weights(kStages[number].look)) ++number;
  return number;
}

void Stages::begin(std::size_t number) {
  const Stage& stage = kStages[number];
  batch.reset();
  clear_pools();
  choose_rows(stage);
  proposer.weigh(stage.look == Look::weighted);
  goals.make(sample, goals.size() == 0, stage.look == Look::plain);
  if (stage.look == Look::weighted) goals.weigh(sample.rows, problem_);
  plan.begin_stage(number, goals.size());
  plan_tasks(stage.look);
}

void Stages::advance() {
  while (plan.empty() && !plan.stages_done()) {
    const std::size_t next = next_from(plan.stage_number() + 1);
    if (next < kStages.size()) {
      begin(next);
    } else {
      plan.end_stages();
    }
  }
}

void Stages::end_with_pools() {
  begin(kStages.size() - 1);
  plan.do_first();
  plan.end_stages();
}

void Stages::choose_rows(const Stage& stage) {
  sample.level = stage.level;
  const bool pursuit = stage.look == Look::pursuit;
  const auto noisy = [this](Index usual) {
    return static_cast<Index>(problem_.settings.scan_factor * static_cast<double>(usual));
  };
  const Index n = stage.look == Look::weighted ? noisy(kWeightedRows)
                  : stage.look == Look::beside ? kBesideRows
                  : stage.look == Look::groups ? kGroupRows
                  : pursuit                    ? noisy(pursuit_rows(stage.level))
                                               : rows(stage.level, problem_.x.n_features());
  sample.rows = guide::choose_rows(problem_, n, pursuit);
}

// They are on other rows.
void Stages::clear_pools() {
  parametric.clear();
  pursuits.clear();
  beside.clear();
  groups.clear();
  similarities.clear();
  spaces.clear();
  deep.clear();
}

void Stages::plan_tasks(Look look) {
  const bool constants = problem_.settings.constants;
  if (look == Look::plain) plan_plain();
  if (look == Look::weighted) plan_weighted();
  if (look == Look::beside) plan_beside();
  if (look == Look::groups) plan_groups();
  if (look == Look::similarity) plan_similarities();
  if (look == Look::pursuit && constants) plan_pursuit();
  if (look == Look::parametric && constants) plan_parametric();
}

template <typename Add>
void Stages::for_goals_in_turn(Index most, Add add) {
  for (Index k = 0; k < most; ++k)
    for (std::vector<Goal>* list : {&goals.sums, &goals.products})
      if (k < ssize(*list) && !(*list)[k].is_unusual()) add((*list)[k]);
}

// What is likely and cheap first: plain goals, pairs, then goals that few laws need.
void Stages::plan_plain() {
  if (sample.level == 0) plan_sublibraries();
  plan.build([this] { return spaces.build(sample); });
  plan_usual_goals();
  plan.build([this] {
    simple_done = true;
    return 1.0;
  });
  if (sample.level == 0) {
    plan_deep();
    plan_rationals();
    plan_similarities();
  }
  plan_unusual_goals();
  if (sample.level == kFrequencyLevel && problem_.settings.constants) plan_two_frequencies();
  plan.scan_together([this] { return neighbours.scan(kRounds); });
}

void Stages::plan_forward(Goal& goal) {
  plan.scan(goal.number, [this, &goal] { return scanner.forward(spaces.of(goal.form), goal); });
}

void Stages::plan_usual_goals() {
  if (problem_.constraints.restricts_units())
    for (Goal& goal : goals.sums)
      plan.scan(goal.number, [this, &goal] { return scanner.of_same_unit(*spaces.sums, goal); });
  for_goals_in_turn(goals.size(), [this](Goal& goal) { plan_forward(goal); });
  if (sample.features.size() > 1)
    for (const Form form : {Form::sum, Form::product})
      plan.scan([this, form] { return scanner.separable(spaces.of(form), goals.of(form)); });
  for (const Form form : {Form::sum, Form::product})
    plan.scan_together([this, form] { return scanner.pairs(spaces.of(form), goals.of(form)); });
  if (sample.level < kTripleLevels)
    for (const bool monomials : {true, false})
      plan.scan([this, monomials] { return scanner.triples(*spaces.sums, goals.sums, monomials); });
  if (sample.level > 0)
    plan.scan([this] { return scanner.beside_two_cheap(*spaces.sums, goals.sums); });
}

void Stages::plan_unusual_goals() {
  for (const Form form : {Form::sum, Form::product})
    for (Goal& goal : goals.of(form))
      if (goal.is_unusual()) plan_forward(goal);
}

// A law of few terms or factors that is exact shows on the first rows already, among many more and
// deeper candidates than the first level has.
void Stages::plan_deep() {
  plan.build([this] { return deep.build_deep(sample, deep_reach(sample.features.size())); });
  for (const Form form : {Form::product, Form::sum}) {
    for (Goal& goal : goals.of(form))
      if (!goal.has_partner())
        plan.scan(goal.number,
                  [this, form, &goal] { return scanner.nearly_exact(deep.of(form), goal); });
    plan.scan([this, form] { return scanner.nearly_exact_pairs(deep.of(form), goals.of(form)); });
  }
  plan.scan([this] { return scanner.nearly_exact_singles(deep.of(Form::product), goals.glanced); });
  plan.build([this] {
    deep.clear();
    return kNothingToScan;
  });
  plan.scan([this] { return partial.scan(); });
}

void Stages::plan_rationals() {
  std::size_t n = 0;
  for (const Goal& goal : goals.sums)
    if (!goal.has_partner() && n++ < kRationalGoals)
      plan.scan(goal.number, [this, &goal] { return rationals.scan(*spaces.sums, goal); });
}

void Stages::plan_two_frequencies() {
  const std::size_t n = std::min(sample.features.size(), kFrequencyFeatures);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      plan.scan([this, i, j] {
        return parametric.scan_two_frequencies(sample.features[i], sample.features[j]);
      });
}

void Stages::plan_weighted() {
  plan.build([this] { return spaces.build(sample); });
  for_goals_in_turn(sample.level == 0 ? ssize(goals.sums) : scanner.n_favoured(), [this](
                                                                                      Goal& goal) {
    plan.scan(goal.number, [this, &goal] { return scanner.weighted(spaces.of(goal.form), goal); });
  });
}

void Stages::plan_parametric() {
  plan.build([this] { return spaces.build(sample); });
  for (const Form form : {Form::sum, Form::product})
    plan.build([this, form] { return parametric.build(form, spaces); });
  for_goals_in_turn(scanner.n_favoured(), [this](Goal& goal) {
    plan.scan(goal.number, [this, &goal] { return parametric.scan(goal); });
  });
}

void Stages::plan_pursuit() {
  plan.build([this] { return pursuits.build(); });
  Pursuit::Widths widths = pursuits.widths();
  std::size_t n = 0;
  const std::size_t most = sample.level == 0 ? kPursuedGoals : kMorePursuedGoals;
  for (const auto& [psi, number] : pursuits.pursued(goals, most)) {
    if (n++ == kFullyPursued) --widths.terms;
    plan.scan(number, [this, left = psi, widths] { return pursuits.pursue(left, widths); });
  }
}

// At the first level one term for y; at the second two for y, and one for other left sides.
void Stages::plan_beside() {
  plan.build([this] { return beside.build(); });
  const bool first = sample.level == 0;
  int n_terms = first ? 1 : 2;
  Index n_sets = ssize(kSimpleTerms);
  for (const auto& [psi, number] : pursuits.pursued(goals, first ? 1 : kLeftSidesBeside)) {
    plan.scan(number,
              [this, left = psi, n_terms, n_sets] { return beside.scan(left, n_terms, n_sets); });
    n_terms = 1;
    n_sets = kGlancesBeside;
  }
}

void Stages::plan_groups() {
  if (sample.features.size() < kLeastGroupFeatures) return;
  std::vector<const Goal*> sought;
  for (const Goal& goal : goals.sums)
    if (!goal.has_partner() && sought.size() < kGroupGoals) sought.push_back(&goal);
  plan.build([this, sought] { return groups.build(sought); });
  for (const Goal* goal : sought)
    plan.scan(goal->number, [this, goal] { return groups.scan(*goal); });
}

void Stages::plan_similarities() {
  plan.build([this] { return similarities.build(); });
  for (std::size_t k = 0; k < kMostInnerSearches; ++k)
    plan.scan([this, k] { return similarities.scan(k); });
}

void Stages::plan_sublibraries() {
  const auto n = static_cast<std::size_t>(problem_.x.n_rows());
  const std::size_t most =
      std::min<std::size_t>(kColumns, n * kSublibraryColumns / kSublibraryRows);
  for (const WholeSet& set : whole_sublibraries(problem_.table, sample.features, most))
    plan.scan([this, set] {
      for (const Goal& goal : goals.sums)
        if (goal.is_plain()) proposer.propose_library(goal, set);
      return kSublibraryWork * static_cast<double>(goals.sums.size());
    });
  for (const Monomial& prefactor : goals.prefactors) {
    const std::vector<WholeSet> sets =
        whole_sublibraries(problem_.table, without_those_of(prefactor, sample.features), most);
    plan.scan([this, sets] {
      for (const Goal& goal : goals.sums)
        for (const WholeSet& set : sets)
          if (!goal.has_partner() && !goal.prefactor.empty()) proposer.propose_library(goal, set);
      return kPrefactorSublibraryWork * static_cast<double>(goals.sums.size());
    });
  }
}

}  // namespace gsr::guide

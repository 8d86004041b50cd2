#include "parametric_scan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "gsr/interrupt.hpp"
#include "refined.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Collects choices whose last column has a constant, one for each family of functions and plain
// column beside it.
class Families {
 public:
  Families(const Space& space, std::vector<ols::Choice>& out) : space_(space), out_(out) {}

  void add(const std::vector<ols::Choice>& found) const {
    std::set<std::pair<Index, long>> seen;
    for (const ols::Choice& choice : found) {
      const Index item = choice.columns.back() - space_.n_plain();
      if (item < 0 || seen.size() == kFamilies) continue;
      const Index beside = choice.columns.size() > 1 ? choice.columns[0] : -1;
      if (seen.emplace(beside, space_.parametric().family(item)).second) out_.push_back(choice);
    }
  }

 private:
  const Space& space_;
  std::vector<ols::Choice>& out_;
};

// The best columns without constants.
std::vector<Index> best_plain(const Space& space, const std::vector<ols::Choice>& singles) {
  std::vector<Index> out;
  for (const ols::Choice& choice : singles)
    if (choice.columns[0] < space.n_plain() && out.size() < kPlainFirst)
      out.push_back(choice.columns[0]);
  return out;
}

// What looks best on the grid is often not what is best once its constant has moved, so each family
// of functions is represented, alone and beside a plain candidate.
void add_families(const Space& space, const Buffer& target, std::vector<ols::Choice>& choices) {
  const ols::Pool& pool = space.pool;
  const Families families(space, choices);
  const std::vector<ols::Choice> singles = pool.singles(target, kManyOfAFamily);
  families.add(singles);
  families.add(pool.pairs(target, std::min(kPairedWithParametric, space.n_plain()), pool.size(),
                          kPairsOfFamilies));
  for (const Index first : best_plain(space, singles)) {
    const Buffer given(pool.column(first), pool.column(first) + target.size());
    std::vector<ols::Choice> beside = pool.singles(target, kManyOfAFamily, &given);
    for (ols::Choice& choice : beside) choice.columns.insert(choice.columns.begin(), first);
    families.add(beside);
  }
}

// Products of a sine or cosine of each of two features.
std::vector<Basis> waves(const Problem& problem, int first, int second,
                         const TwoFrequencies& found) {
  const Table& table = problem.table;
  const auto wave = [&](const char* name, int f, double frequency) {
    return composition::apply(
        table, table.find(name),
        composition::scaled(table, monomial_tree(table, {{f, 1}}), frequency));
  };
  std::vector<Basis> out;
  for (const char* of_first : {"cos", "sin"})
    for (const char* of_second : {"cos", "sin"})
      add_term(problem, {wave(of_first, first, found.first), wave(of_second, second, found.second)},
               out);
  return out;
}

}  // namespace

double ParametricScan::build(Form form, const Spaces& spaces) {
  const Problem& problem = sample_.problem;
  const bool sum = form == Form::sum;
  std::unique_ptr<Space>& space = of(form);
  space.reset();
  auto parametric = std::make_unique<Parametric>(
      sample_.rows.x, problem.table,
      [&problem](const Tree& tree) { return may_carry_constant(problem, tree); }, sample_.features,
      (sum ? parametric_sums : parametric_products)(sample_.level, sample_.features.size()));
  space = std::make_unique<Space>(problem, *spaces.candidates,
                                  cheapest(spaces.candidates->terms(), kPlainBeside),
                                  spaces.of(form).free, std::move(parametric));
  return sample_.work_of({kParametricPoolWork, 0.0}, space->size());
}

void ParametricScan::clear() {
  sums_.reset();
  products_.reset();
}

// False if nothing chosen has a constant to move.
bool ParametricScan::write_terms(const Space& space, const Goal& goal, const ols::Choice& choice,
                                 std::vector<Basis>& terms) const {
  const Problem& problem = sample_.problem;
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem.table, goal.prefactor));
  terms = space.free.terms;
  if (!prefix.empty()) add_term(problem, prefix, terms);
  bool moves = false;
  for (const Index j : choice.columns) {
    moves = moves || j >= space.n_plain();
    Trees factors = space.factors(j);
    factors.insert(factors.end(), prefix.begin(), prefix.end());
    add_term(problem, factors, terms);
  }
  return moves;
}

double ParametricScan::scan(const Goal& goal) {
  Space& space = *of(goal.form);
  Buffer target;
  if (space.pool.prepare(goal.values.data(), target) == 0.0) return kNothingToScan;
  const bool favoured = goals_.place(goal) < kFavouredParametric;
  const auto [beam, work] =
      goal.form == Form::sum ? parametric_sum_scan(favoured) : parametric_product_scan(favoured);
  std::vector<ols::Choice> choices = space.pool.forward(target, beam.depth, beam.width);
  if (favoured) add_families(space, target, choices);
  std::vector<std::vector<Basis>> sets;
  for (const ols::Choice& choice : choices) {
    std::vector<Basis> terms;
    if (write_terms(space, goal, choice, terms)) sets.push_back(std::move(terms));
  }
  propose_refined(goal.psi, sets, sample_.rows, proposer_, sample_.problem);
  return sample_.work_of(work, space.size());
}

// y itself, or the first of the goals.
const Basis* ParametricScan::plain_target() const {
  const int identity = sample_.problem.target_table.identity();
  const Basis* found = goals_.sums.empty() ? nullptr : &goals_.sums[0].psi;
  for (const Goal& goal : goals_.sums)
    if (goal.is_plain() && goal.psi.size == 1 && goal.psi.rows[0].transformation == identity &&
        goal.psi.rows[0].argument == ArgumentType::variable)
      found = &goal.psi;
  return found;
}

double ParametricScan::scan_two_frequencies(int first, int second) {
  const Problem& problem = sample_.problem;
  const Basis* psi = plain_target();
  if (psi == nullptr || problem.table.find("sin") < 0 || problem.table.find("cos") < 0)
    return kNothingToScan;
  const Rows rows = choose_rows(problem, kFrequencyRows);
  Buffer target = values_of(*psi, rows.y, problem.target_table);
  if (target.empty()) return kNothingToScan;
  Eigen::Map<Vector> t(target.data(), rows.x.n_rows());
  t.array() -= t.mean();
  const TwoFrequencies found =
      strongest_product(rows.x.features[first - 1], rows.x.features[second - 1], target.data(),
                        rows.x.n_rows(), kCycles);
  const std::vector<Basis> products = waves(problem, first, second, found);
  std::vector<std::vector<Basis>> sets{products};
  for (const Basis& product : products) sets.push_back({product});
  propose_refined(*psi, sets, rows, proposer_, sample_.problem);
  return sample_.work_of(kFrequencyWork * kCycles * kCycles * kFrequencyRowWork *
                         static_cast<double>(kFrequencyRows));
}

}  // namespace gsr::guide

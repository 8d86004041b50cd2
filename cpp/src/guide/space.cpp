#include "space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gsr::guide {
namespace {

using namespace tuning;

// Plain candidates, then functions with constants inside.
Columns joined(const Columns& plain, const Parametric& parametric) {
  const Index n = plain.n_columns();
  Columns out(plain.n_rows(), n + static_cast<Index>(parametric.size()));
  for (Index j = 0; j < n; ++j) std::copy_n(plain[j], plain.stride(), out[j]);
  for (Index j = n; j < out.n_columns(); ++j) parametric.write(j - n, out[j]);
  return out;
}

Tree logarithm(int feature, const Table& table) {
  return composition::apply(table, table.find("ln"), monomial_tree(table, {{feature, 1}}));
}

// 1 and ln|x_i| of the features that are never 0: all monomials are free.
Free free_of_products(const Sample& sample) {
  const Problem& problem = sample.problem;
  const Dataset& x = sample.rows.x;
  std::vector<Buffer> logs;
  Free out;
  for (const int f : sample.features) {
    bool finite = problem.table.find("ln") >= 0 && kRowsPerFree * (ssize(logs) + 1) < x.n_rows();
    Buffer column(x.features.stride(), 0.0);
    for (Index i = 0; i < x.n_rows() && finite; ++i) {
      column[i] = std::log(std::abs(x.features[f - 1][i]));
      finite = std::isfinite(column[i]);
    }
    if (!finite || !add_term(problem, {logarithm(f, problem.table)}, out.terms)) continue;
    logs.push_back(std::move(column));
  }
  out.columns.resize(x.n_rows(), 1 + ssize(logs));
  std::fill_n(out.columns[0], x.n_rows(), 1.0);
  for (Index j = 0; j < ssize(logs); ++j)
    std::copy(logs[j].begin(), logs[j].end(), out.columns[j + 1]);
  return out;
}

// 1 and the required terms, which the solver adds to every proposal by itself.
Free free_of_sums(const Sample& sample) {
  const Problem& problem = sample.problem;
  return {constant_and(problem.constraints.required, sample.rows.x, problem.table).columns, {}};
}

// Logarithms of atoms; exponentials of any monomial, and of the simpler other terms.
std::vector<Candidate> factors_of_products(const Candidates& candidates, std::size_t n_simple,
                                           int logarithms_cheaper) {
  std::vector<Candidate> out = candidates.logarithms();
  for (Candidate& logarithm : out) logarithm.cost -= logarithms_cheaper;
  const std::vector<Candidate>& terms = candidates.terms();
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (terms[k].atom < 0 || k < n_simple) out.push_back(terms[k]);
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return out;
}

// No more candidates than memory allows on these rows.
Reach affordable(Reach reach, const Sample& sample) {
  const std::size_t most =
      kMostPoolBytes / (sizeof(double) * static_cast<std::size_t>(sample.rows.x.features.stride()));
  reach.atoms = std::min(reach.atoms, most);
  reach.terms = std::min(reach.terms, most);
  return reach;
}

double work_of_pools(const Sample& sample, Index n_columns, const Space& products) {
  const auto n_free = static_cast<double>(products.free.columns.n_columns());
  return sample.work_of(static_cast<double>(n_columns * sample.n_rows()) *
                        (kPoolWork + kPoolFreeWork * n_free));
}

}  // namespace

Free constant_and(const std::vector<Basis>& terms, const Dataset& x, const Table& table) {
  Free out{Columns(x.n_rows(), 1 + ssize(terms)), terms};
  std::fill_n(out.columns[0], x.n_rows(), 1.0);
  for (Index k = 0; k < ssize(terms); ++k) {
    const Buffer values = values_of(terms[k], x, table);
    if (values.empty()) return {};
    std::copy(values.begin(), values.end(), out.columns[k + 1]);
  }
  return out;
}

std::vector<Candidate> cheapest(const std::vector<Candidate>& list, std::size_t most) {
  return {list.begin(), list.begin() + std::min(ssize(list), static_cast<Index>(most))};
}

Space::Space(const Problem& problem, const Candidates& candidates, std::vector<Candidate> listed,
             Free beside, const Buffer& factor)
    : list(std::move(listed)),
      free(std::move(beside)),
      pool(guide::weighed(candidates.values(list), factor), free.columns),
      problem_(problem),
      candidates_(candidates) {}

Space::Space(const Problem& problem, const Candidates& candidates, std::vector<Candidate> listed,
             Free beside, std::unique_ptr<Parametric> parametric)
    : list(std::move(listed)),
      free(std::move(beside)),
      pool(joined(candidates.values(list), *parametric), free.columns),
      problem_(problem),
      candidates_(candidates),
      parametric_(std::move(parametric)) {}

Space Space::restricted(const Rule& rule, Index most) const {
  std::vector<Candidate> some;
  for (const Candidate& candidate : list)
    if (ssize(some) < most && rule(candidate)) some.push_back(candidate);
  return {problem_, candidates_, std::move(some), free};
}

Space Space::beside(Free other, std::size_t most) const {
  return {problem_, candidates_, cheapest(list, most), std::move(other)};
}

Space Space::weighed(const Buffer& weights) const {
  return {
      problem_, candidates_, list, {guide::weighed(free.columns, weights), free.terms}, weights};
}

Trees Space::factors(Index column) const {
  return column < n_plain() ? candidates_.factors(list[column])
                            : parametric_->factors(column - n_plain());
}

void Space::propose(const Goal& goal, const ols::Choice& choice, Proposer& proposer) const {
  const bool product = goal.form == Form::product;
  if (product && problem_.table.find("ln") < 0) return;
  if (product && !goal.prefactor.empty()) return propose_by_pool(goal, choice, proposer);
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<Basis> terms = free.terms;
  if (!prefix.empty()) add_term(problem_, prefix, terms);
  for (const Index j : choice.columns) {
    Trees term = prefix;
    for (Tree& tree : factors(j)) term.push_back(std::move(tree));
    if (!add_term(problem_, term, terms)) return;
  }
  std::vector<Basis> psi{goal.psi};
  if (goal.has_partner()) psi.push_back(goal.partner);
  proposer.propose(psi, terms);
}

// The left side holds a prefactor or is not defined in all rows, so that the sum of logarithms is
// no law of its own.
void Space::propose_by_pool(const Goal& goal, const ols::Choice& choice, Proposer& proposer) const {
  const bool exact = choice.rest < kExactlyLeft;
  proposer.propose_as_product(fit_on_rows(goal, choice), goal.plain, goal.prefactor,
                              exact ? kExactOnFewRows : kNoisyExponent);
}

// The sum of logarithms fitted on the scanned rows; no terms if they depend on each other.
Law Space::fit_on_rows(const Goal& goal, const ols::Choice& choice) const {
  std::vector<Candidate> chosen;
  for (const Index j : choice.columns) chosen.push_back(list[j]);
  const Columns extra = candidates_.values(chosen);
  const Index n_free = free.columns.n_columns(), n = n_free + extra.n_columns();
  Orthogonalizer qr;
  qr.reset(free.columns.n_rows(), n);
  for (Index j = 0; j < n_free; ++j) qr.push(free.columns[j], 0.0);
  for (Index j = 0; j < extra.n_columns(); ++j) qr.push(extra[j], 0.0);
  Law law;
  if (qr.size() != n) return law;
  Buffer rest = goal.values;
  Vector projected(n), alpha(n);
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), alpha.data());
  law.phi = free.terms;
  law.alpha.assign(alpha.data() + 1, alpha.data() + n_free);
  for (Index k = 0; k < ssize(chosen); ++k)
    if (add_term(problem_, candidates_.factors(chosen[k]), law.phi))
      law.alpha.push_back(alpha(n_free + k));
  return law;
}

double Spaces::build(const Sample& sample) {
  const Reach reach = affordable(tuning::reach(sample.level, sample.features.size()), sample);
  make_candidates(sample, reach);
  sums = std::make_unique<Space>(sample.problem, *candidates, candidates->terms(),
                                 free_of_sums(sample));
  make_products(sample, reach);
  return work_of_pools(sample, static_cast<Index>(reach.terms) + products->size(), *products);
}

double Spaces::build_deep(const Sample& sample, Reach reach) {
  reach = affordable(reach, sample);
  make_candidates(sample, reach);
  sums = std::make_unique<Space>(sample.problem, *candidates, candidates->terms(),
                                 free_of_sums(sample));
  make_products(sample, reach, kLogarithmsFirst);
  return work_of_pools(sample, sums->size() + products->size(), *products);
}

void Spaces::make_candidates(const Sample& sample, const Reach& reach) {
  const Problem& problem = sample.problem;
  clear();
  candidates = std::make_unique<Candidates>(sample.rows.x, problem.table, problem.settings,
                                            problem.constraints, sample.features, reach);
}

void Spaces::make_products(const Sample& sample, const Reach& reach, int logarithms_cheaper) {
  std::vector<Candidate> factors;
  const std::size_t share = logarithms_cheaper > 0 ? 1 : kExponentShare;
  if (sample.problem.table.find("ln") >= 0)
    factors = factors_of_products(*candidates, reach.terms / share, logarithms_cheaper);
  products = std::make_unique<Space>(sample.problem, *candidates, std::move(factors),
                                     free_of_products(sample));
}

void Spaces::clear() {
  sums.reset();
  products.reset();
  candidates.reset();
}

}  // namespace gsr::guide

#include "proposer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "gsr/interrupt.hpp"
#include "product_law.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Beside the constant.
Index n_terms(const Law& law, const Table& table) {
  return std::count_if(law.phi.begin(), law.phi.end(),
                       [&](const Basis& phi) { return !is_constant(phi, table); });
}

bool uses(const Law& law, int feature) {
  const auto row_uses = [feature](const Row& row) {
    return std::any_of(row.variables.begin(), row.variables.end(),
                       [feature](std::int16_t v) { return std::abs(v) == feature; });
  };
  return std::any_of(law.phi.begin(), law.phi.end(), [&](const Basis& phi) {
    return std::any_of(phi.begin(), phi.end(), row_uses);
  });
}

}  // namespace

Proposer::Proposer(const Problem& problem, const std::vector<int>& features, const Goals& goals,
                   std::size_t max_bytes, int n_threads)
    : problem_(problem), features_(features), goals_(goals) {
  desks_.resize(static_cast<std::size_t>(n_threads));
  for (Desk& desk : desks_)
    desk.solver =
        std::make_unique<IndividualSolver>(problem, max_bytes / desks_.size(), kColumns, kPsi);
}

Proposer::Drafting::Drafting(Proposer& proposer, Draft& draft)
    : proposer_(proposer),
      draft_(draft),
      unconverged_before_(proposer.desk().solver->n_unconverged()) {
  draft.counts = {0, proposer.counts_.simplified_bits};
  proposer.desk().draft = &draft;
  proposer.desk().solver->weigh(proposer.weighted_);
}

Proposer::Drafting::~Drafting() {
  draft_.n_unconverged = proposer_.desk().solver->n_unconverged() - unconverged_before_;
  draft_.archive.reset();
  proposer_.desk().draft = nullptr;
}

const Archive& Proposer::archive() const {
  const Draft* draft = desk().draft;
  return draft != nullptr && draft->archive ? *draft->archive : *archive_;
}

void Proposer::weigh(bool on) {
  if (is_drafting()) {
    desk().solver->weigh(on);
  } else {
    weighted_ = on;
  }
}

void Proposer::note_promise(Goal& goal, double left) {
  if (is_drafting()) {
    desk().draft->promises.emplace_back(&goal, left);
  } else {
    goal.promise = std::min(goal.promise, left);
  }
}

void Proposer::count_evaluations(long n) {
  (is_drafting() ? desk().draft->counts : counts_).evaluations += n;
}

void Proposer::take_back(const Counts& counts) {
  counts_ = counts;
  individuals_.clear();
}

void Proposer::merge(Draft draft) {
  for (const Law& law : draft.laws) archive_->offer(law);
  for (const auto& [goal, left] : draft.promises) goal->promise = std::min(goal->promise, left);
  std::move(draft.individuals.begin(), draft.individuals.end(), std::back_inserter(individuals_));
  counts_.evaluations += draft.counts.evaluations;
  counts_.simplified_bits = std::min(counts_.simplified_bits, draft.counts.simplified_bits);
  n_unconverged_ += draft.n_unconverged;
}

void Proposer::solve(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool chosen,
                     Index least_terms) {
  if (is_drafting()) return solve_in(*desk().draft, psi, phi, chosen, least_terms);
  Draft draft;
  {
    const Drafting drafting(*this, draft);
    solve_in(draft, psi, phi, chosen, least_terms);
  }
  merge(std::move(draft));
}

// A law for a logarithm is tried as a product too, which says the same better.
void Proposer::solve_in(Draft& draft, const std::vector<Basis>& psi,
                        const std::vector<Basis>& phi, bool chosen, Index least_terms) {
  stop_if_asked();
  IndividualSolver& solver = *desk().solver;
  ++draft.counts.evaluations;
  const Goal* product = goals_.product_of(psi[0]);
  if (!admits_target(problem_, psi[0])) {
    if (product != nullptr) propose_product_only(*product, phi);
    return;
  }
  solver.phi().clear();
  solver.psi().clear();
  for (const Basis& basis : psi) solver.psi().add(basis);
  for (const Basis& basis : phi) solver.phi().add(basis);
  Individual individual;
  individual.fitness = solver.solve(std::numeric_limits<double>::infinity(), kAnyBits, chosen);
  if (!std::isfinite(individual.fitness)) return;
  const Law fitted = solver.fitted_law();
  offer_laws(solver, draft, least_terms);
  if (psi.size() == 1) {
    individual.phi = solver.phi().bases();
    individual.psi = psi;
    draft.individuals.push_back(std::move(individual));
  }
  if (fitted.exact && fitted.bits < draft.counts.simplified_bits) simplify(fitted);
  if (product != nullptr && psi.size() == 1)
    propose_as_product(fitted, product->plain, {}, fitted.exact ? kExactExponent : kNoisyExponent);
}

void Proposer::offer_laws(IndividualSolver& solver, Draft& draft, Index least_terms) {
  std::vector<Law> laws;
  solver.collect(archive(), laws);
  for (const Law& law : laws)
    if (std::isfinite(law.rmse) && n_terms(law, problem_.table) >= least_terms) offer(law, draft);
}

// Whether a law is accepted is asked when drafts are merged: until then it must not stand in the
// way of others.
void Proposer::offer(const Law& law, Draft& draft) {
  if (!archive().would_take(law)) return;
  draft.exact = draft.exact || law.exact;
  draft.laws.push_back(law);
  if (archive_->asks()) return;
  if (!draft.archive) draft.archive = *archive_;
  draft.archive->offer(law);
}

// An exact law may have been found in roundabout terms: powers of its features alone are tried.
void Proposer::simplify(const Law& law) {
  desk().draft->counts.simplified_bits = law.bits;
  std::vector<int> used;
  for (const int f : features_)
    if (uses(law, f)) used.push_back(f);
  if (used.empty() || law.psi.size() != 1) return;
  for (const WholeSet& set : power_sets(problem_.table, used, kColumns)) {
    std::vector<Basis> library;
    for (const Trees& factors : set) add_term(problem_, factors, library);
    propose_library(law.psi[0], library);
  }
}

void Proposer::propose_library(const Goal& goal, const WholeSet& set) {
  Trees prefix;
  if (!goal.prefactor.empty()) prefix.push_back(monomial_tree(problem_.table, goal.prefactor));
  std::vector<Basis> library;
  if (!prefix.empty()) add_term(problem_, prefix, library);
  for (Trees factors : set) {
    factors.insert(factors.end(), prefix.begin(), prefix.end());
    add_term(problem_, factors, library);
  }
  if (!library.empty()) propose_library(goal.psi, library);
}

// Where units forbid a law for a logarithm the product that it stands for may still be allowed.
void Proposer::propose_product_only(const Goal& goal, const std::vector<Basis>& phi) {
  const Index n = problem_.x.n_rows();
  Buffer rest = values_of(goal.psi, problem_.y, problem_.target_table);
  if (rest.empty() || phi.empty()) return;
  Orthogonalizer qr;
  qr.reset(n, ssize(phi) + 1);
  Buffer ones(rest.size(), 0.0);
  std::fill_n(ones.begin(), n, 1.0);
  qr.push(ones.data(), 0.0);
  Law law;
  for (const Basis& basis : phi) {
    const Buffer values = values_of(basis, problem_.x, problem_.table);
    if (!values.empty() && qr.push(values.data())) law.phi.push_back(basis);
  }
  const double size = Eigen::Map<const Vector>(rest.data(), n).norm();
  Vector projected(qr.size()), alpha(qr.size());
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), alpha.data());
  law.alpha.assign(alpha.data() + 1, alpha.data() + alpha.size());
  const double left = Eigen::Map<const Vector>(rest.data(), n).norm();
  propose_as_product(law, goal.plain, {},
                     left < kExactlyLeft * size ? kExactExponent : kNoisyExponent);
}

void Proposer::propose_as_product(const Law& law, const Basis& plain, const Monomial& prefactor,
                                  double tolerance) {
  Trees factors;
  if (!product_factors(law, prefactor, problem_.table, tolerance, factors) || factors.empty())
    return;
  std::vector<Basis> terms;
  if (!prefactor.empty() && !add_term(problem_, {monomial_tree(problem_.table, prefactor)}, terms))
    return;
  if (add_term(problem_, factors, terms)) propose({plain}, terms);
}

}  // namespace gsr::guide

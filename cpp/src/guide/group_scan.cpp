#include "group_scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gsr/interrupt.hpp"
#include "gsr/least_squares.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// The best single terms, and the best of each number of terms beyond one.
std::vector<ols::Choice> choices_of(const ols::Pool& pool, const Buffer& target) {
  std::vector<ols::Choice> out = pool.singles(target, kGroupSingles);
  std::size_t size = 1;
  for (ols::Choice& choice : pool.forward(target, kGroupDepth, kGroupWidth)) {
    if (choice.columns.size() == size) continue;
    size = choice.columns.size();
    pool.swap(target, choice, kSwapPasses);
    out.push_back(std::move(choice));
  }
  return out;
}

}  // namespace

// One group of all features is what every other scan looks at.
bool GroupScan::is_worth_scanning(const std::vector<Group>& groups) const {
  const auto largest = groups.empty() ? 0 : groups[0].size();
  return largest > 0 && largest < sample_.features.size() && groups.size() <= kMostGroups;
}

void GroupScan::clear() {
  candidates_.clear();
  known_.clear();
}

double GroupScan::make_candidates(const Group& group) {
  std::unique_ptr<Candidates>& pool = candidates_[group];
  if (pool != nullptr) return 0.0;
  const Problem& problem = sample_.problem;
  pool = std::make_unique<Candidates>(sample_.rows.x, problem.table, problem.settings,
                                      problem.constraints, group, group_reach(group.size()));
  return kPoolWork * static_cast<double>(ssize(pool->terms()) * sample_.n_rows());
}

double GroupScan::build(const std::vector<const Goal*>& goals) {
  double operations = 0.0;
  for (const Goal* goal : goals) {
    operations += kGroupTestWork * static_cast<double>(sample_.n_rows());
    Known known{find_groups(sample_.rows.x, sample_.features, goal->values)};
    if (!is_worth_scanning(known.groups)) continue;
    known.most = kWorseThanPolynomials * left_by_polynomials(*goal, known.groups);
    if (!std::isfinite(known.most)) continue;
    for (const Group& group : known.groups) operations += make_candidates(group);
    known_[goal->number] = std::move(known);
  }
  return sample_.work_of(operations);
}

// The constant, terms of groups that are done, and polynomials of those that are not.
Free GroupScan::beside(const std::vector<Group>& groups, const Partial& partial,
                       std::size_t scanned) const {
  const Dataset& x = sample_.rows.x;
  std::vector<Buffer> columns(1, Buffer(x.features.stride(), 0.0));
  std::fill_n(columns[0].begin(), x.n_rows(), 1.0);
  for (const Basis& term : partial.terms)
    columns.push_back(values_of(term, x, sample_.problem.table));
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (g != scanned && !partial.done[g])
      Polynomials(x).add_all(groups[g], polynomial_degree(groups[g].size()), columns);
  return {as_columns(columns, x.n_rows()), {}};
}

double GroupScan::left_by_polynomials(const Goal& goal, const std::vector<Group>& groups) const {
  const Index n = sample_.n_rows();
  const Partial nothing{{}, std::vector<char>(groups.size(), 0)};
  const Columns free = beside(groups, nothing, groups.size()).columns;
  const double too_much = std::numeric_limits<double>::infinity();
  if (kGroupRowsPerColumn * free.n_columns() > n) return too_much;
  Orthogonalizer qr;
  qr.reset(n, free.n_columns());
  Buffer rest = goal.values;
  Vector inside(free.n_columns());
  const auto squares = [&] { return Eigen::Map<const Vector>(rest.data(), n).squaredNorm(); };
  qr.push(free[0]);
  qr.project(rest.data(), inside.data());
  const double spread = squares();
  for (Index j = 1; j < free.n_columns(); ++j) qr.push(free[j]);
  qr.project(rest.data(), inside.data());
  return squares() < kLeftByPolynomials * spread ? squares() : too_much;
}

double GroupScan::extend(const Goal& goal, const Known& known, const Partial& partial,
                         std::size_t scanned, std::vector<Partial>& out) const {
  stop_if_asked();
  const Problem& problem = sample_.problem;
  const Candidates& candidates = *candidates_.at(known.groups[scanned]);
  Space space(problem, candidates, candidates.terms(), beside(known.groups, partial, scanned));
  Buffer target;
  const double left = space.pool.prepare(goal.values.data(), target);
  const double operations =
      (kGroupScanWork + kPoolFreeWork * static_cast<double>(space.free.columns.n_columns())) *
      static_cast<double>(space.size() * sample_.n_rows());
  if (left == 0.0 || space.size() == 0) return operations;
  for (const ols::Choice& choice : choices_of(space.pool, target)) {
    Partial longer = partial;
    longer.done[scanned] = 1;
    longer.rest = choice.rest * left * left;
    bool allowed = longer.rest <= known.most;
    for (const Index j : choice.columns) {
      Trees factors = space.factors(j);
      if (!goal.prefactor.empty()) factors.push_back(monomial_tree(problem.table, goal.prefactor));
      allowed = allowed && add_term(problem, factors, longer.terms);
    }
    if (allowed) out.push_back(std::move(longer));
  }
  return operations;
}

double GroupScan::scan(const Goal& goal) const {
  const auto found = known_.find(goal.number);
  if (found == known_.end()) return kNothingToScan;
  const Known& known = found->second;
  const std::size_t n = known.groups.size();
  double operations = 0.0;
  std::vector<Partial> open(1);
  open[0].done.assign(n, 0);
  for (std::size_t step = 0; step < n; ++step) {
    std::vector<Partial> next;
    for (const Partial& partial : open)
      for (std::size_t g = 0; g < n; ++g)
        if (!partial.done[g]) operations += extend(goal, known, partial, g, next);
    std::stable_sort(next.begin(), next.end(),
                     [](const Partial& a, const Partial& b) { return a.rest < b.rest; });
    if (next.size() > kGroupBeam) next.resize(kGroupBeam);
    open = std::move(next);
  }
  for (const Partial& law : open) proposer_.propose({goal.psi}, law.terms);
  return sample_.work_of(operations) + static_cast<double>(open.size());
}

}  // namespace gsr::guide

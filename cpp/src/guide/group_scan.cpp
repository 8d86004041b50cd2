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

const Candidates& GroupScan::candidates_of(const Group& group) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Candidates>& known = candidates_[group];
  if (known == nullptr) {
    const Problem& problem = sample_.problem;
    known = std::make_unique<Candidates>(sample_.rows.x, problem.table, problem.settings,
                                         problem.constraints, group, group_reach(group.size()));
  }
  return *known;
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

void GroupScan::extend(const Goal& goal, const std::vector<Group>& groups, const Partial& partial,
                       std::size_t scanned, double most, std::vector<Partial>& out,
                       double& operations) {
  stop_if_asked();
  const Problem& problem = sample_.problem;
  const Candidates& candidates = candidates_of(groups[scanned]);
  Free free = beside(groups, partial, scanned);
  const Index n_free = free.columns.n_columns();
  if (kGroupRowsPerColumn * n_free > sample_.n_rows()) return;
  Space space(problem, candidates, candidates.terms(), std::move(free));
  Buffer target;
  const double left = space.pool.prepare(goal.values.data(), target);
  operations += (kGroupScanWork + kPoolFreeWork * static_cast<double>(n_free)) *
                static_cast<double>(space.size() * sample_.n_rows());
  if (left == 0.0 || space.size() == 0) return;
  for (const ols::Choice& choice : choices_of(space.pool, target)) {
    if (choice.rest * left * left > most) continue;
    Partial longer = partial;
    longer.done[scanned] = 1;
    longer.rest = choice.rest * left * left;
    bool allowed = true;
    for (const Index j : choice.columns) {
      Trees factors = space.factors(j);
      if (!goal.prefactor.empty()) factors.push_back(monomial_tree(problem.table, goal.prefactor));
      allowed = allowed && add_term(problem, factors, longer.terms);
    }
    if (allowed) out.push_back(std::move(longer));
  }
}

double GroupScan::scan(const Goal& goal) {
  double operations = kGroupTestWork * static_cast<double>(sample_.n_rows());
  const std::vector<Group> groups = find_groups(sample_.rows.x, sample_.features, goal.values);
  if (!is_worth_scanning(groups)) return sample_.work_of(operations);
  const double most = kWorseThanPolynomials * left_by_polynomials(goal, groups);
  if (!std::isfinite(most)) return sample_.work_of(operations);
  // Counted for every goal, whoever has made them: work must not depend on who comes first.
  for (const Group& group : groups)
    operations += kPoolWork *
                  static_cast<double>(ssize(candidates_of(group).terms()) * sample_.n_rows());
  std::vector<Partial> open(1);
  open[0].done.assign(groups.size(), 0);
  for (std::size_t step = 0; step < groups.size(); ++step) {
    std::vector<Partial> next;
    for (const Partial& partial : open)
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!partial.done[g]) extend(goal, groups, partial, g, most, next, operations);
    std::stable_sort(next.begin(), next.end(),
                     [](const Partial& a, const Partial& b) { return a.rest < b.rest; });
    if (next.size() > kGroupBeam) next.resize(kGroupBeam);
    open = std::move(next);
  }
  for (const Partial& law : open) proposer_.propose({goal.psi}, law.terms);
  return sample_.work_of(operations) + static_cast<double>(open.size());
}

}  // namespace gsr::guide

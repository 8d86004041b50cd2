#include "partial_logarithms.hpp"

#include <algorithm>
#include <cmath>

#include "gsr/interrupt.hpp"
#include "gsr/targets.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

using LeftSide = PartialLogarithms::LeftSide;

std::vector<LeftSide> left_sides(const Problem& problem, const std::vector<int>& features,
                                 const std::vector<Monomial>& found) {
  std::vector<LeftSide> out;
  std::vector<Monomial> prefactors{{}};
  for (const int f : features)
    for (const int sign : {1, -1}) prefactors.push_back({{f, sign}});
  prefactors.insert(prefactors.end(), found.begin(), found.end());
  std::vector<Basis> powers = power_targets(problem.target_table, problem.settings);
  powers.resize(std::min<std::size_t>(powers.size(), kPartialPowers));
  for (const Basis& psi : powers) {
    if (&psi == powers.data()) out.push_back({psi, {}, 0.0});
    for (const Monomial& prefactor : prefactors)
      for (const double shift : {1.0, -1.0}) out.push_back({psi, prefactor, shift});
  }
  return out;
}

// psi(y)/p; empty if psi is undefined in some row.
Buffer scaled_target(const Dataset& x, const Dataset& y, const LeftSide& left, const Table& table) {
  Buffer out = values_of(left.psi, y, table);
  if (out.empty()) return out;
  for (const auto& [f, p] : left.prefactor)
    for (Index i = 0; i < x.n_rows(); ++i) out[i] *= std::pow(x.features[f - 1][i], -p);
  return out;
}

// Whether the logarithm is defined, and little of it is rounding.
bool is_known(double value, double shift) {
  const double sum = std::abs(value + shift);
  const double least = shift == 0.0 ? kUnderflow : kCancelledPart * std::max(1.0, std::abs(value));
  return std::isfinite(sum) && sum > least;
}

// The rows in which the logarithm is known; none if these are nearly all, or few.
std::vector<Index> known_rows(const Buffer& values, double shift, Index n) {
  std::vector<Index> out;
  for (Index i = 0; i < n; ++i)
    if (is_known(values[i], shift)) out.push_back(i);
  const auto share = static_cast<double>(out.size()) / static_cast<double>(n);
  if (share > kNearlyAllKnown || share < kFewKnown) out.clear();
  return out;
}

}  // namespace

double PartialLogarithms::scan() const {
  const Problem& problem = sample_.problem;
  if (problem.table.find("ln") < 0) return kNothingToScan;
  double work = kNothingToScan;
  int n_scanned = 0;
  for (const LeftSide& left : left_sides(problem, sample_.features, goals_.prefactors)) {
    stop_if_asked();
    const Buffer values = scaled_target(problem.x, problem.y, left, problem.target_table);
    if (values.empty() || n_scanned == kMostPartial) continue;
    const std::vector<Index> known = known_rows(values, left.shift, problem.x.n_rows());
    if (ssize(known) < sample_.n_rows()) continue;
    ++n_scanned;
    work += scan(left, known);
  }
  return work;
}

double PartialLogarithms::scan(const LeftSide& left, const std::vector<Index>& known) const {
  const Problem& problem = sample_.problem;
  Sample some = sample_;
  some.rows = rows_among(problem, known, sample_.n_rows());
  Goal goal;
  goal.form = Form::product;
  goal.plain = left.psi;
  goal.prefactor = left.prefactor;
  goal.values = scaled_target(some.rows.x, some.rows.y, left, problem.target_table);
  if (goal.values.empty()) return kNothingToScan;
  for (Index i = 0; i < some.n_rows(); ++i)
    goal.values[i] = std::log(std::abs(goal.values[i] + left.shift));
  const std::size_t d = some.features.size();
  Spaces spaces;
  return spaces.build_deep(some, left.shift == 0.0 ? deep_reach(d) : reach(0, d)) +
         scanner_.of_known_rows(*spaces.products, goal);
}

}  // namespace gsr::guide

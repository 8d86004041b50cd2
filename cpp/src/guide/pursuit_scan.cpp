#include "pursuit_scan.hpp"

#include <algorithm>
#include <cmath>

#include "gsr/refine.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Simpler forms of the models follow them.
void add_simplified(std::vector<Pursuit::Model>& models, const Table& table) {
  for (Index k = 0, n = ssize(models); k < n; ++k) {
    Pursuit::Model shorter = models[k];
    shorter.terms = simplified(models[k].terms, table);
    if (shorter.terms != models[k].terms) models.push_back(std::move(shorter));
  }
}

}  // namespace

std::unique_ptr<Dictionary> make_dictionary(const Sample& sample,
                                            const Dictionary::Extent& extent) {
  const Problem& problem = sample.problem;
  return std::make_unique<Dictionary>(
      sample.rows.x, problem.table, sample.features,
      [&problem](const Tree& tree) { return may_carry_constant(problem, tree); },
      [&problem](const Trees& factors) { return allowed_term(problem, factors); }, extent);
}

std::vector<std::pair<Basis, Index>> PursuitScan::pursued(const Goals& goals,
                                                          std::size_t most) const {
  std::vector<std::pair<Basis, Index>> out;
  const auto add = [&](const Goal& goal) {
    const auto same = [&](const auto& other) { return other.first == goal.psi; };
    if (std::none_of(out.begin(), out.end(), same) && admits_target(sample_.problem, goal.psi))
      out.emplace_back(goal.psi, goal.number);
  };
  if (!goals.sums.empty()) add(goals.sums[0]);
  if (!goals.products.empty()) add(goals.products[0]);
  for (const Goal& goal : goals.sums)
    if (goal.is_plain()) add(goal);
  if (out.size() > most) out.resize(most);
  return out;
}

Pursuit::Widths PursuitScan::widths() const {
  return sample_.level == 0 ? kNarrowPursuit : kWidePursuit;
}

double PursuitScan::build() {
  dictionary_ = make_dictionary(sample_, sample_.level == 0 ? kFewEntries : kManyEntries);
  return sample_.work_of({kDictionaryWork, 0.0}, dictionary_->n_columns());
}

double PursuitScan::pursue(const Basis& psi, const Pursuit::Widths& widths) {
  const Problem& problem = sample_.problem;
  const Rows& rows = sample_.rows;
  const Buffer target = values_of(psi, rows.y, problem.target_table);
  const Buffer all = values_of(psi, problem.y, problem.target_table);
  if (target.empty() || all.empty()) return kNothingToScan;
  const auto weights = [&](const Dataset& y, const Buffer& of_rows) {
    return TargetScale(y, problem.target_table, false, of_rows).weights(psi);
  };
  Pursuit pursuit(*dictionary_, rows.x, problem.table, widths);
  std::vector<Pursuit::Model> models = pursuit.search(target, weights(rows.y, rows.weights));
  add_simplified(models, problem.table);
  Refiner on_all(problem.x, problem.table, weights(problem.y, problem.row_weights));
  for (Pursuit::Model& model : models) {
    if (model.left > kHopeless) continue;
    const double left = on_all.improve(all.data(), model.terms, kFull);
    if (!std::isfinite(left)) continue;
    proposer_.weigh(left > kNoNoise);
    // Shorter models were refined by themselves.
    proposer_.propose({psi}, model.terms, ssize(model.terms));
  }
  proposer_.weigh(false);
  const double refined =
      kRefinedColumnWork * static_cast<double>(on_all.n_columns_evaluated() * problem.x.n_rows());
  return sample_.work_of(pursuit.operations() + refined) + static_cast<double>(models.size());
}

}  // namespace gsr::guide

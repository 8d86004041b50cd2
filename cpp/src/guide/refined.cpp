#include "refined.hpp"

#include <algorithm>
#include <utility>

#include "gsr/interrupt.hpp"
#include "gsr/refine.hpp"
#include "terms.hpp"

namespace gsr::guide {

using namespace tuning;

void propose_refined(const Basis& psi, const std::vector<std::vector<Basis>>& sets,
                     const Rows& rows, Proposer& proposer, const Problem& problem) {
  const Buffer few = values_of(psi, rows.y, problem.target_table);
  const Buffer all = values_of(psi, problem.y, problem.target_table);
  if (few.empty() || all.empty()) return;
  std::vector<std::pair<double, std::vector<Basis>>> refined;
  Refiner on_few(rows.x, problem.table, rows.weights);
  for (std::vector<Basis> terms : sets) {
    stop_if_asked();
    const double left = on_few.improve(few.data(), terms, kRefineSteps);
    if (left < kHopeless) refined.emplace_back(left, std::move(terms));
  }
  std::stable_sort(refined.begin(), refined.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (refined.size() > kProposed) refined.resize(kProposed);
  Refiner on_all(problem.x, problem.table, problem.row_weights);
  for (auto& [left, terms] : refined) {
    on_all.improve(all.data(), terms, left < kFitsWell ? kStepsOfGoodFit : kStepsOfOthers);
    proposer.propose({psi}, terms);
  }
}

}  // namespace gsr::guide

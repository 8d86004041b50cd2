// Laws with real constants inside from few noisy rows: a pursuit for y, ln|y|, 1/y and the goals
// that promise most.
#include <algorithm>
#include <cmath>

#include "gsr/guide.hpp"
#include "gsr/pursuit.hpp"
#include "guide_limits.hpp"
#include "pursuit_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

// Left sides; later ones of the second number get one term less.
constexpr std::size_t kGoals = 3, kMoreGoals = 6, kFullyPursued = 3;
constexpr Dictionary::Extent kFew{1500, false, false};
constexpr Dictionary::Extent kMany{3000, true, false};
constexpr Pursuit::Widths kNarrow{kPursuitTerms, 3, 1, 8, 3};
constexpr Pursuit::Widths kWide{kPursuitTerms, 8, 3, 16, 6};
constexpr double kNoNoise = 1e-8;  // of the target is left
constexpr double kHopeless = 0.7;  // likewise

}  // namespace

// y, ln|y| and 1/y, then the goals in their order.
std::vector<std::pair<Basis, std::size_t>> Guide::pursued_goals(std::size_t most) const {
  std::vector<std::pair<Basis, std::size_t>> out;
  const auto add = [&](const Basis& psi, std::size_t number) {
    const auto same = [&](const auto& other) { return other.first == psi; };
    if (std::none_of(out.begin(), out.end(), same) && admits_target(psi))
      out.emplace_back(psi, number);
  };
  if (!goals_.empty()) add(goals_[0].psi, goals_[0].number);
  if (!log_goals_.empty()) add(log_goals_[0].target.logarithm, log_goals_[0].number);
  for (const Goal& goal : goals_)
    if (goal.partner.size == 0 && goal.prefactor.empty()) add(goal.psi, goal.number);
  if (out.size() > most) out.resize(most);
  return out;
}

void Guide::plan_pursuit() {
  plan_building([this] { return build_dictionary(); });
  Pursuit::Widths widths = level_ == 0 ? kNarrow : kWide;
  std::size_t n = 0;
  for (const auto& [psi, number] : pursued_goals(level_ == 0 ? kGoals : kMoreGoals)) {
    if (n++ == kFullyPursued) --widths.terms;
    plan_scanning(number, [this, left = psi, widths] { return pursue(left, widths); });
  }
}

std::optional<Basis> Guide::made(const Trees& factors) const {
  std::vector<Basis> out;
  if (!add_basis(factors, out)) return std::nullopt;
  if (problem_.constraints.restricts_bases() &&
      !problem_.constraints.admits(out[0], problem_.table))
    return std::nullopt;
  return out[0];
}

double Guide::build_dictionary() {
  dictionary_ = std::make_unique<Dictionary>(
      x_, problem_.table, features_, [this](const Tree& tree) { return may_carry_constant(tree); },
      [this](const Trees& factors) { return made(factors); }, level_ == 0 ? kFew : kMany);
  return size_of(100.0 * static_cast<double>(dictionary_->n_columns() * x_.n_rows()));
}

double Guide::pursue(const Basis& psi, const Pursuit::Widths& widths) {
  const Buffer target = values_of(psi, y_, problem_.target_table);
  const Buffer all = values_of(psi, problem_.y, problem_.target_table);
  if (target.empty() || all.empty()) return 1.0;
  const Buffer weights = TargetScale(y_, problem_.target_table, false, row_weights_).weights(psi);
  Pursuit pursuit(*dictionary_, x_, problem_.table, widths);
  std::vector<Pursuit::Model> models = pursuit.search(target, weights);
  for (std::size_t k = 0, n = models.size(); k < n; ++k) {
    Pursuit::Model shorter = models[k];
    shorter.terms = simplified(models[k].terms, problem_.table);
    if (shorter.terms != models[k].terms) models.push_back(std::move(shorter));
  }
  Refiner on_all(problem_.x, problem_.table,
                 TargetScale(problem_.y, problem_.target_table, false, problem_.row_weights)
                     .weights(psi));
  for (Pursuit::Model& model : models) {
    if (model.left > kHopeless) continue;
    const double left = on_all.improve(all.data(), model.terms, kFull);
    if (!std::isfinite(left)) continue;
    solver_.weigh(left > kNoNoise);
    // Shorter models were refined by themselves.
    propose({psi}, model.terms, false, model.terms.size());
  }
  solver_.weigh(false);
  const double refined =
      25.0 * static_cast<double>(on_all.n_columns_evaluated() * problem_.x.n_rows());
  return size_of(pursuit.operations() + refined) + static_cast<double>(models.size());
}

}  // namespace gsr

#include "goals.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "gsr/targets.hpp"
#include "shifted_products.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

std::uint64_t key(const Goal& goal) {
  Writer writer;
  writer.basis(goal.psi);
  if (goal.form == Form::product) return ~fingerprint(writer.bytes());  // psi may be a sum's too
  writer.monomial(goal.prefactor);
  writer.basis(goal.partner);
  return fingerprint(writer.bytes());
}

std::vector<Goal> plain_products(const Sample& sample) {
  const Problem& problem = sample.problem;
  std::vector<Goal> out;
  for (const LogTarget& target : log_targets(problem.target_table, problem.settings)) {
    Goal goal;
    goal.form = Form::product;
    goal.psi = target.logarithm;
    goal.plain = target.plain;
    goal.values = values_of(goal.psi, sample.rows.y, problem.target_table);
    if (!goal.values.empty()) out.push_back(std::move(goal));
  }
  return out;
}

std::vector<Goal> plain_sums(const Sample& sample) {
  const Problem& problem = sample.problem;
  std::vector<Goal> out;
  for (const Basis& psi : sum_targets(problem.target_table, problem.settings)) {
    Goal goal;
    goal.psi = psi;
    goal.values = values_of(psi, sample.rows.y, problem.target_table);
    if (!goal.values.empty()) out.push_back(std::move(goal));
  }
  return out;
}

// y, 1/y, y^2 and 1/y^2 are divided by p, 1/p, p^2 and 1/p^2.
void add_sums_with_prefactor(const Sample& sample, const std::vector<Monomial>& prefactors,
                             std::vector<Goal>& sums) {
  constexpr int kPowers[] = {1, -1, 2, -2};
  const Problem& problem = sample.problem;
  const std::vector<Basis> psi = power_targets(problem.target_table, problem.settings);
  for (const Monomial& prefactor : prefactors)
    for (std::size_t k = 0; k < psi.size(); ++k) {
      Goal goal;
      goal.psi = psi[k];
      goal.prefactor = prefactor;
      for (auto& [f, p] : goal.prefactor) p *= kPowers[k];
      goal.values = values_of(goal.psi, sample.rows.y, problem.target_table);
      const Buffer divisor = values_of(goal.prefactor, sample.rows.x, problem.table);
      if (goal.values.empty() || divisor.empty()) continue;
      for (Index i = 0; i < sample.n_rows(); ++i) goal.values[i] /= divisor[i];
      sums.push_back(std::move(goal));
    }
}

// Two psi at once: the second one stands beside the terms.
void add_partners(std::vector<Goal>& sums) {
  const Index n = std::min(ssize(sums), kPartnered);
  for (Index a = 1; a < n; ++a)
    for (Index b = 0; b < std::min(a, kPartners); ++b) {
      if (!sums[a].prefactor.empty() || !sums[b].prefactor.empty()) continue;
      Goal goal = sums[a];
      goal.partner = sums[b].psi;
      goal.partner_values = sums[b].values;
      sums.push_back(std::move(goal));
    }
}

void number_all(std::vector<Goal>& sums, std::vector<Goal>& products) {
  Index number = 0;
  for (std::vector<Goal>* list : {&sums, &products})
    for (Goal& goal : *list) goal.number = number++;
}

void order_by_promise(std::vector<Goal>& goals, Index n_first) {
  std::stable_sort(goals.begin() + std::min(n_first, ssize(goals)), goals.end(),
                   [](const Goal& a, const Goal& b) { return a.promise < b.promise; });
}

// The smaller promise of both counts.
void merge(const Promises& from, Promises& into) {
  for (const auto& [goal, promise] : from) {
    const auto found = into.emplace(goal, promise).first;
    found->second = std::min(found->second, promise);
  }
}

}  // namespace

double PromiseBook::promised(std::uint64_t goal) const {
  const auto found = at_planning.find(goal);
  return found == at_planning.end() ? 1.0 : found->second;
}

void PromiseBook::learn(const Promises& promises) { merge(promises, learned); }

void PromiseBook::settle() {
  merge(learned, at_planning);
  learned.clear();
}

// In the order of what they promised one level earlier, so that good ones come first.
void Goals::make(const Sample& sample, bool first, bool shifted) {
  book.learn(promises());
  book.settle();
  products = plain_products(sample);
  for (Goal& goal : products) goal.promise = book.promised(key(goal));
  if (first && !products.empty())
    for (const Monomial& found : find_prefactors(sample, products[0].psi))
      if (std::find(prefactors.begin(), prefactors.end(), found) == prefactors.end())
        prefactors.push_back(found);
  glanced.clear();
  if (shifted && sample.level < kShiftedLevels && !products.empty()) {
    ShiftedProducts found = shifted_products(sample, prefactors, products[0]);
    std::move(found.likely.begin(), found.likely.end(), std::back_inserter(products));
    glanced = std::move(found.others);
  }
  sums = plain_sums(sample);
  add_sums_with_prefactor(sample, prefactors, sums);
  if (sample.problem.settings.transform_target) add_partners(sums);
  for (Goal& goal : sums) goal.promise = book.promised(key(goal));
  number_all(sums, products);
  order_by_promise(sums, kFirstGoals);
  order_by_promise(products, kFirstProducts);
}

void Goals::clear() {
  sums.clear();
  products.clear();
  glanced.clear();
}

void Goals::weigh(const Rows& rows, const Problem& problem) {
  TargetScale scale(rows.y, problem.target_table, false, rows.weights);
  for (Goal& goal : sums) {
    goal.weights = scale.weights(goal.psi);
    if (goal.prefactor.empty()) continue;
    const Buffer prefactor = values_of(goal.prefactor, rows.x, problem.table);
    for (Index i = 0; i < ssize(prefactor); ++i) goal.weights[i] *= std::abs(prefactor[i]);
  }
  for (Goal& goal : products) goal.weights = scale.weights(goal.psi);
}

Index Goals::place(const Goal& goal) const {
  return &goal - (goal.form == Form::sum ? sums : products).data();
}

const Goal* Goals::product_of(const Basis& logarithm) const {
  for (const Goal& goal : products)
    if (goal.psi == logarithm) return &goal;
  return nullptr;
}

// Goals of shifted products are new at every stage.
Promises Goals::promises() const {
  Promises out;
  for (const std::vector<Goal>* list : {&sums, &products})
    for (const Goal& goal : *list)
      if (goal.promise < 1.0 && (goal.form == Form::sum || goal.prefactor.empty()))
        out[key(goal)] = goal.promise;
  return out;
}

std::vector<double> Goals::promise_of_each() const {
  std::vector<double> out;
  for (const std::vector<Goal>* list : {&sums, &products})
    for (const Goal& goal : *list) out.push_back(goal.promise);
  return out;
}

void Goals::set_promise_of_each(const std::vector<double>& promises) {
  auto promise = promises.begin();
  for (std::vector<Goal>* list : {&sums, &products})
    for (Goal& goal : *list) goal.promise = *promise++;
}

}  // namespace gsr::guide

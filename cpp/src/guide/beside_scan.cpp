#include "beside_scan.hpp"

#include <algorithm>
#include <cmath>

#include "gsr/refine.hpp"
#include "pursuit_scan.hpp"
#include "refined.hpp"
#include "terms.hpp"

namespace gsr::guide {

using namespace tuning;

void BesideScan::clear() {
  dictionary_.reset();
  simple_.clear();
}

double BesideScan::build() {
  const Problem& problem = sample_.problem;
  const Candidates candidates(sample_.rows.x, problem.table, problem.settings, problem.constraints,
                              sample_.features, reach(kBesideReach, sample_.features.size()));
  std::vector<Basis> others;
  for (const Candidate& term : candidates.terms()) {
    if (ssize(others) == kBesidePlainTerms) break;
    if (const auto basis = allowed_term(problem, candidates.factors(term)))
      (ssize(simple_) < kSimpleTerms[0] ? simple_ : others).push_back(*basis);
  }
  Dictionary::Extent extent = kBesideEntries;
  if (!problem.settings.constants) extent.columns = 0;
  dictionary_ = make_dictionary(sample_, extent);
  dictionary_->add_plain(others);
  return sample_.work_of({kDictionaryWork, 0.0}, dictionary_->n_columns());
}

Columns BesideScan::simple_columns(Index count) const {
  Columns out(sample_.n_rows(), std::min(count, ssize(simple_)));
  for (Index k = 0; k < out.n_columns(); ++k) {
    const Buffer values = values_of(simple_[k], sample_.rows.x, sample_.problem.table);
    std::copy(values.begin(), values.end(), out[k]);
  }
  return out;
}

double BesideScan::scan(const Basis& psi, int n_terms, Index n_sets) {
  double work = kNothingToScan;
  for (Index k = 0; k < n_sets; ++k)
    if (!scan_beside(kSimpleTerms[k], psi, n_terms, work)) break;
  return work;
}

bool BesideScan::scan_beside(Index n_simple, const Basis& psi, int n_terms, double& work) {
  const Problem& problem = sample_.problem;
  const Buffer target = values_of(psi, sample_.rows.y, problem.target_table);
  if (target.empty() || proposer_.archive().best_exact() != nullptr) return false;
  if (sample_.n_rows() < kRowsPerFreeColumn * n_simple) return true;
  Pursuit pursuit(*dictionary_, sample_.rows.x, problem.table,
                  n_terms == 1 ? kOneTermBeside : kTwoTermsBeside);
  std::vector<Pursuit::Model> models =
      pursuit.search(target, sample_.rows.weights, simple_columns(n_simple));
  std::stable_sort(models.begin(), models.end(),
                   [](const auto& a, const auto& b) { return a.left < b.left; });
  const bool seen = !models.empty() && models[0].left < kSeenBesideNoise;
  if (models.size() > kPrunedModels) models.resize(kPrunedModels);
  models.emplace_back();  // the simple terms alone
  for (const Pursuit::Model& model : models)
    if (model.left * pursuit.beside_free() < kExactBeside &&
        (model.terms.empty() || model.left < kLeftByLastTerm))
      propose_pruned(psi, target, model.terms, n_simple);
  work += sample_.work_of(pursuit.operations()) + static_cast<double>(models.size());
  return seen;
}

void BesideScan::propose_pruned(const Basis& psi, const Buffer& target, std::vector<Basis> terms,
                                Index n_simple) {
  terms.insert(terms.end(), simple_.begin(), simple_.begin() + std::min(n_simple, ssize(simple_)));
  terms = pruned(target, std::move(terms));
  if (!terms.empty() && ssize(terms) <= kMostTermsPruned)
    propose_refined(psi, {terms, simplified(terms, sample_.problem.table)}, sample_.rows, proposer_,
                    sample_.problem);
}

// Those that do not depend on the ones before them.
std::vector<Basis> BesideScan::independent(const std::vector<Basis>& terms) const {
  Orthogonalizer qr;
  qr.reset(sample_.n_rows(), ssize(terms) + 1);
  const Buffer ones(sample_.rows.x.features.stride(), 1.0);
  qr.push(ones.data());
  std::vector<Basis> out;
  for (const Basis& term : terms) {
    const Buffer values = values_of(term, sample_.rows.x, sample_.problem.table);
    if (!values.empty() && qr.push(values.data(), kDependentTerm)) out.push_back(term);
  }
  return out;
}

// Terms are left out one by one, that of the least effect first, as long as the law stays exact.
std::vector<Basis> BesideScan::pruned(const Buffer& target, std::vector<Basis> terms) const {
  Refiner refiner(sample_.rows.x, sample_.problem.table, sample_.rows.weights);
  refiner.set_distinct(kDependentTerm);
  terms = independent(terms);
  const double with_all = refiner.improve(target.data(), terms, kPruningSteps);
  const double most = std::min(std::max(kSameError * with_all, kAtRounding), kExactBeside);
  while (!terms.empty()) {
    if (!std::isfinite(refiner.linearise(target.data(), terms))) return {};
    const std::vector<double> losses = refiner.losses(ssize(terms));
    const auto least = std::min_element(losses.begin(), losses.end()) - losses.begin();
    std::vector<Basis> fewer = terms;
    fewer.erase(fewer.begin() + least);
    if (!(refiner.improve(target.data(), fewer, kPruningSteps) <= most)) break;
    terms = std::move(fewer);
  }
  return terms;
}

}  // namespace gsr::guide

// Terms beside simple ones. Laws of many terms have mostly simple ones: powers of features, their
// products, roots, sines. With the simplest terms free, what is left of an exact law is one or two
// terms, each found by one scan and refined if it has constants inside. Simple terms that the law
// does not need are dropped afterwards.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gsr/guide.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

// Sizes of the sets of simple terms: small ones leave more of the other terms to be seen, large ones
// hold more. Noise shows at once with the largest, which comes first.
constexpr std::size_t kSimple[] = {30, 12, 20, 6};
constexpr std::size_t kGlances = 2;  // of them for left sides other than y
constexpr Index kRowsPerColumn = 3;
constexpr std::size_t kLeftSides = 5;
constexpr std::size_t kPlainTerms = 1500;
constexpr Dictionary::Extent kExtent{8000, false, true};
// Every family is tried: once simple terms are free, all that is smooth looks alike on the grid.
constexpr Pursuit::Widths kOneTerm{1, 6, 1, 400, 6};
constexpr Pursuit::Widths kTwoTerms{2, 4, 1, 24, 3};
// No single term explains so much of noise that less than this is left.
constexpr double kSeen = 0.9;
// A law is exact if this is left of the target, and its last term leaves little of what the others
// leave.
constexpr double kExact = 1e-8;
constexpr double kLastTerm = 1e-2;
constexpr std::size_t kPruned = 3;  // models of a scan that are looked at
// Simple terms are dropped while no more is left than so many times what is left with all of them.
constexpr double kSameError = 10.0;
constexpr double kAtRounding = 1e-13;
constexpr double kDependent = 1e-9;
constexpr std::size_t kMostTerms = 9;  // more only interpolate
constexpr int kSteps = 12;

}  // namespace

void Guide::plan_beside() {
  plan_building([this] { return build_beside(); });
  const int n_terms = level_ + 1;
  std::size_t n_sizes = std::size(kSimple);
  for (const auto& [left, number] : pursued_goals(level_ == 0 ? kLeftSides : 1)) {
    plan_scanning(number, [this, psi = left, n_sizes, n_terms] {
      double size = 1.0;
      for (std::size_t k = 0; k < n_sizes; ++k)
        if (!scan_beside(psi, kSimple[k], n_terms, size)) break;
      return size;
    });
    n_sizes = kGlances;
  }
}

double Guide::build_beside() {
  simple_.clear();
  candidates_ = std::make_unique<Candidates>(x_, problem_.table, settings_, problem_.constraints,
                                             features_, reach(1, features_.size()));
  std::vector<Basis> others;
  for (const Candidate& term : candidates_->terms()) {
    if (others.size() == kPlainTerms) break;
    const std::optional<Basis> basis = made(candidates_->factors(term));
    if (basis) (simple_.size() < kSimple[0] ? simple_ : others).push_back(*basis);
  }
  const auto rule = [this](const Tree& tree) { return may_carry_constant(tree); };
  Dictionary::Extent extent = kExtent;
  if (!settings_.constants) extent.columns = 0;
  dictionary_ = std::make_unique<Dictionary>(
      x_, problem_.table, features_, rule, [this](const Trees& factors) { return made(factors); },
      extent);
  dictionary_->add_plain(others);
  return size_of(150.0 * static_cast<double>(dictionary_->n_columns() * x_.n_rows()));
}

Columns Guide::simple_columns(std::size_t count) const {
  std::vector<Buffer> values;
  for (std::size_t k = 0; k < std::min(count, simple_.size()); ++k)
    values.push_back(values_of(simple_[k], x_, problem_.table));
  Columns out(x_.n_rows(), static_cast<Index>(values.size()));
  for (std::size_t k = 0; k < values.size(); ++k)
    std::copy(values[k].begin(), values[k].end(), out[static_cast<Index>(k)]);
  return out;
}

// False if it is no use to look further.
bool Guide::scan_beside(const Basis& psi, std::size_t n_simple, int n_terms, double& size) {
  const Buffer target = values_of(psi, y_, problem_.target_table);
  if (target.empty() || archive_->best_exact() != nullptr) return false;
  if (x_.n_rows() < kRowsPerColumn * static_cast<Index>(n_simple)) return true;
  Pursuit pursuit(*dictionary_, x_, problem_.table, n_terms == 1 ? kOneTerm : kTwoTerms);
  std::vector<Pursuit::Model> models =
      pursuit.search(target, row_weights_, simple_columns(n_simple));
  std::stable_sort(models.begin(), models.end(),
                   [](const auto& a, const auto& b) { return a.left < b.left; });
  const bool seen = !models.empty() && models[0].left < kSeen;
  if (models.size() > kPruned) models.resize(kPruned);
  models.emplace_back();  // the simple terms alone
  for (const Pursuit::Model& model : models)
    if (model.left * pursuit.beside_free() < kExact &&
        (model.terms.empty() || model.left < kLastTerm))
      propose_pruned(psi, target, model.terms, n_simple);
  size += size_of(pursuit.operations()) + static_cast<double>(models.size());
  return seen;
}

void Guide::propose_pruned(const Basis& psi, const Buffer& target, std::vector<Basis> terms,
                           std::size_t n_simple) {
  const auto n = static_cast<std::ptrdiff_t>(std::min(n_simple, simple_.size()));
  terms.insert(terms.end(), simple_.begin(), simple_.begin() + n);
  terms = pruned(target, std::move(terms));
  if (!terms.empty() && terms.size() <= kMostTerms)
    propose_refined(psi, {terms, simplified(terms, problem_.table)});
}

// Those that do not depend on the ones before them.
std::vector<Basis> Guide::independent(const std::vector<Basis>& terms) const {
  Orthogonalizer qr;
  qr.reset(x_.n_rows(), static_cast<Index>(terms.size()) + 1);
  const Buffer ones(static_cast<std::size_t>(x_.features.stride()), 1.0);
  qr.push(ones.data());
  std::vector<Basis> out;
  for (const Basis& term : terms) {
    const Buffer values = values_of(term, x_, problem_.table);
    if (!values.empty() && qr.push(values.data(), kDependent)) out.push_back(term);
  }
  return out;
}

// Terms are left out one by one, that of the least effect first, as long as the law stays exact.
std::vector<Basis> Guide::pruned(const Buffer& target, std::vector<Basis> terms) const {
  Refiner refiner(x_, problem_.table, row_weights_);
  refiner.set_distinct(kDependent);
  terms = independent(terms);
  const double most =
      std::max(kSameError * refiner.improve(target.data(), terms, kSteps), kAtRounding);
  while (!terms.empty()) {
    if (!std::isfinite(refiner.linearise(target.data(), terms))) return {};
    const std::vector<double> losses = refiner.losses(terms.size());
    const auto least = std::min_element(losses.begin(), losses.end()) - losses.begin();
    std::vector<Basis> fewer = terms;
    fewer.erase(fewer.begin() + least);
    const double then = refiner.improve(target.data(), fewer, kSteps);
    if (!(then <= std::min(most, kExact))) break;
    terms = std::move(fewer);
  }
  return terms;
}

}  // namespace gsr

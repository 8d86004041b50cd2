// Neighbours of the laws found so far: a term is added, exchanged, or multiplied by a candidate of
// the pool, or one of its factors is exchanged. Products of many functions are too many to be
// listed, but parts of the right one explain something by themselves, and from there it is one
// step.
#include <algorithm>
#include <cmath>

#include "gsr/guide.hpp"
#include "gsr/interrupt.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

constexpr std::size_t kMostTerms = 6;  // of a law that is extended
constexpr std::size_t kLawsAtOnce = 6;
constexpr std::size_t kMultipliers = 1500, kExchanged = 6000;
constexpr std::size_t kReplaced = 3, kAdded = 1;  // proposals for each base
constexpr std::size_t kPairedBeside = 2, kPairs = 3;
constexpr std::size_t kMostExtended = 20000;
constexpr double kBetweenLooks = 10000.0;  // individuals of work, and so many times the last look:
constexpr double kOtherWork = 1.0;
constexpr int kLevels = 4;

std::uint64_t print_of(const Law& law, int level) {
  Writer writer;
  writer.number(level);
  writer.bases(law.psi);
  std::vector<Basis> terms = law.phi;
  std::sort(terms.begin(), terms.end());
  writer.bases(terms);
  return fingerprint(writer.bytes());
}

std::vector<Tree> without(const std::vector<Tree>& factors, std::size_t k) {
  std::vector<Tree> out = factors;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
  return out;
}

// All but the constant and the one at `left_out`.
std::vector<Basis> terms_of(const Law& law, const Table& table, std::size_t left_out) {
  std::vector<Basis> out;
  for (std::size_t k = 0; k < law.phi.size(); ++k)
    if (!is_constant(law.phi[k], table) && k != left_out) out.push_back(law.phi[k]);
  return out;
}

std::vector<Candidate> first_of(const std::vector<Candidate>& terms, std::size_t most) {
  return {terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(std::min(terms.size(), most))};
}

}  // namespace

int Guide::neighbours_seen(const Law& law) const {
  int seen = kLevels;
  while (seen > 0 && extended_.count(print_of(law, seen - 1)) == 0) --seen;
  return seen;
}

void Guide::note_neighbours_seen(const Law& law, int seen) {
  if (seen > 0) extended_.insert(print_of(law, std::min(seen, kLevels) - 1));
}

// Laws come up in every stage, and arrive from other islands at any time.
bool Guide::neighbours_are_due() const {
  return candidates_ != nullptr && since_neighbours_ >= kBetweenLooks;
}

double Guide::look_at_some_neighbours() {
  const double size = scan_neighbours(1);
  since_neighbours_ = -kOtherWork * size;
  return size;
}

void Guide::note_from_elsewhere(const Law& law) {
  if (from_elsewhere_.size() > kMostExtended) from_elsewhere_.clear();
  from_elsewhere_.insert(print_of(law, 0));
}

bool Guide::belongs_elsewhere(const Law& law) const {
  const std::uint64_t print = print_of(law, 0);
  return from_elsewhere_.count(print) != 0 && !is_mine(static_cast<std::size_t>(print));
}

// What is found may have better neighbours still.
double Guide::scan_neighbours(int rounds) {
  double size = 1.0;
  if (candidates_ == nullptr) return size;
  if (extended_.size() > kMostExtended) extended_.clear();
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Law> laws = laws_to_extend();
    if (laws.empty()) break;
    for (const Law& law : laws) {
      size += extend(law);
      extended_.insert(print_of(law, level_));
    }
  }
  return size;
}

// Laws of few terms that are new, those of the front first.
std::vector<Law> Guide::laws_to_extend() const {
  std::vector<Law> out;
  if (archive_->best_exact() != nullptr) return out;
  for (const std::vector<Law>* list : {&archive_->front(), &archive_->runners_up()})
    for (const Law& law : *list) {
      if (out.size() == kLawsAtOnce) return out;
      const std::uint64_t print = print_of(law, level_);
      if (law.psi.size() == 1 && law.phi.size() <= kMostTerms + 1 && extended_.count(print) == 0 &&
          !belongs_elsewhere(law))
        out.push_back(law);
    }
  return out;
}

double Guide::extend(const Law& law) {
  double size = extend_term(law, 0, {}, false) + extend_by_pairs(law);
  for (std::size_t k = 0; k < law.phi.size(); ++k) {
    if (is_constant(law.phi[k], problem_.table)) continue;
    const Trees factors = composition::factors(law.phi[k]);
    size += extend_term(law, k, {}, true);
    size += extend_term(law, k, factors, true);
    size += extend_term(law, k, factors, false);
    for (std::size_t f = 0; factors.size() > 1 && f < factors.size(); ++f)
      size += extend_term(law, k, without(factors, f), true);
  }
  return size;
}

// 1 and the given terms; no columns if one of them has no values on the scanned rows.
Columns Guide::columns_beside(const std::vector<Basis>& terms) const {
  Columns out(x_.n_rows(), 1 + static_cast<Index>(terms.size()));
  std::fill_n(out[0], x_.n_rows(), 1.0);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const Buffer values = values_of(terms[k], x_, problem_.table);
    if (values.empty()) return {};
    std::copy(values.begin(), values.end(), out[static_cast<Index>(k) + 1]);
  }
  return out;
}

// base times candidates, beside the other terms, and beside the term itself unless `instead`; of an
// empty base that is the candidates themselves.
double Guide::extend_term(const Law& law, std::size_t term, const Trees& base, bool instead) {
  stop_if_asked();
  const std::vector<Basis> others = terms_of(law, problem_.table, instead ? term : law.phi.size());
  const Buffer psi = values_of(law.psi[0], y_, problem_.target_table);
  Buffer factor(psi.size(), 1.0);
  if (!base.empty()) {
    std::vector<Basis> whole;
    if (!add_basis(base, whole)) return 1.0;
    factor = values_of(whole[0], x_, problem_.table);
  }
  const Columns free = columns_beside(others);
  if (factor.empty() || psi.empty() || free.n_columns() == 0) return 1.0;
  const std::vector<Candidate> list =
      first_of(candidates_->terms(), base.empty() ? kExchanged : kMultipliers);
  ols::Pool pool(weighed(candidates_->values(list), factor), free);
  Buffer target;
  if (pool.size() == 0 || pool.prepare(psi.data(), target) == 0.0) return 1.0;
  const std::size_t count = instead ? kReplaced : kAdded;
  for (const ols::Choice& choice : pool.singles(target, count))
    propose_beside(law.psi[0], others, base, list, choice);
  return size_of(static_cast<double>(pool.size() * x_.n_rows()) *
                 (10.0 + 4.0 * static_cast<double>(free.n_columns()))) +
         static_cast<double>(count);
}

// Two candidates beside a law of one or two terms.
double Guide::extend_by_pairs(const Law& law) {
  const std::vector<Basis> others = terms_of(law, problem_.table, law.phi.size());
  if (level_ == 0 || others.empty() || others.size() > kPairedBeside) return 1.0;
  const Buffer psi = values_of(law.psi[0], y_, problem_.target_table);
  const Columns free = columns_beside(others);
  if (psi.empty() || free.n_columns() == 0) return 1.0;
  const std::vector<Candidate> list = first_of(candidates_->terms(), kExchanged);
  ols::Pool pool(candidates_->values(list), free);
  Buffer target;
  if (pool.size() == 0 || pool.prepare(psi.data(), target) == 0.0) return 1.0;
  const Index first = pairs_first(pool);
  for (const auto& pairs : pool.pairs({target}, first, pool.size(), kPairs))
    for (const ols::Choice& pair : pairs) propose_beside(law.psi[0], others, {}, list, pair);
  return size_of(0.3 * static_cast<double>(first * pool.size() * x_.n_rows())) +
         static_cast<double>(kPairs);
}

void Guide::propose_beside(const Basis& psi, std::vector<Basis> bases, const Trees& base,
                           const std::vector<Candidate>& list, const ols::Choice& choice) {
  for (const Index j : choice.columns) {
    Trees product = base;
    for (Tree& tree : candidates_->factors(list[static_cast<std::size_t>(j)]))
      product.push_back(std::move(tree));
    if (!add_basis(product, bases)) return;
  }
  propose({psi}, bases);
}

// The pools of the last stage, for neighbours of laws that come up after it.
void Guide::prepare_last() {
  stage_ = kStages.size() - 1;
  plan_stage();
  work_.front().run();
  work_.clear();
  stage_ = kStages.size();
}

}  // namespace gsr

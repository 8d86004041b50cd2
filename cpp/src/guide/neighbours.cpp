#include "neighbours.hpp"

#include <algorithm>

#include "batch.hpp"
#include "gsr/interrupt.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

std::uint64_t print_of(const Law& law, int level) {
  Writer writer;
  writer.number(level);
  writer.bases(law.psi);
  std::vector<Basis> terms = law.phi;
  std::sort(terms.begin(), terms.end());
  writer.bases(terms);
  return fingerprint(writer.bytes());
}

Trees without(Trees factors, Index k) {
  factors.erase(factors.begin() + k);
  return factors;
}

// All but the constant and the one at `left_out`.
std::vector<Basis> terms_of(const Law& law, const Table& table, Index left_out) {
  std::vector<Basis> out;
  for (Index k = 0; k < ssize(law.phi); ++k)
    if (!is_constant(law.phi[k], table) && k != left_out) out.push_back(law.phi[k]);
  return out;
}

}  // namespace

int Neighbours::seen(const Law& law) const {
  int seen = kLevels;
  while (seen > 0 && extended.count(print_of(law, seen - 1)) == 0) --seen;
  return seen;
}

void Neighbours::note_seen(const Law& law, int seen) {
  if (seen > 0) extended.insert(print_of(law, std::min(seen, kLevels) - 1));
}

void Neighbours::note_from_elsewhere(const Law& law) {
  if (from_elsewhere.size() > kMostExtended) from_elsewhere.clear();
  from_elsewhere.insert(print_of(law, 0));
}

bool Neighbours::belongs_elsewhere(const Law& law) const {
  const std::uint64_t print = print_of(law, 0);
  return from_elsewhere.count(print) != 0 && !is_mine_(print);
}

bool Neighbours::due() const { return spaces_.candidates != nullptr && since >= kBetweenLooks; }

double Neighbours::scan_some() {
  const double work = scan(1);
  since = -kOtherWork * work;
  return work;
}

double Neighbours::scan(int rounds) {
  double work = kNothingToScan;
  if (spaces_.candidates == nullptr) return work;
  if (extended.size() > kMostExtended) extended.clear();
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Law> laws = laws_to_extend();
    if (laws.empty()) break;
    std::vector<Look> looks;  // long ones first: no thread should come to one when others end
    for (const Law& law : laws) looks.push_back({&law, 0, {}, false, Look::Kind::pairs});
    for (const Law& law : laws) add_looks(law, sample_.problem.table, looks);
    work += side_by_side(proposer_, ssize(looks), [&](int i) { return extend(looks[i]); });
    for (const Law& law : laws) extended.insert(print_of(law, sample_.level));
  }
  return work;
}

// Laws of few terms that are new, those of the front first.
std::vector<Law> Neighbours::laws_to_extend() const {
  const Archive& archive = proposer_.archive();
  std::vector<Law> out;
  if (archive.best_exact() != nullptr) return out;
  for (const std::vector<Law>* list : {&archive.front(), &archive.runners_up()})
    for (const Law& law : *list) {
      if (out.size() == kLawsAtOnce) return out;
      if (law.psi.size() == 1 && law.phi.size() <= kMostTerms + 1 &&
          extended.count(print_of(law, sample_.level)) == 0 && !belongs_elsewhere(law))
        out.push_back(law);
    }
  return out;
}

void Neighbours::add_looks(const Law& law, const Table& table, std::vector<Look>& looks) {
  looks.push_back({&law, 0, {}, false, Look::Kind::constants});
  looks.push_back({&law, 0, {}, false});
  for (Index k = 0; k < ssize(law.phi); ++k) {
    if (is_constant(law.phi[k], table)) continue;
    const Trees factors = composition::factors(law.phi[k]);
    looks.push_back({&law, k, {}, true});
    looks.push_back({&law, k, factors, true});
    looks.push_back({&law, k, factors, false});
    for (Index f = 0; factors.size() > 1 && f < ssize(factors); ++f)
      looks.push_back({&law, k, without(factors, f), true});
  }
}

double Neighbours::extend(const Look& look) {
  stop_if_asked();
  const Law& law = *look.law;
  switch (look.kind) {
    case Look::Kind::pairs: return extend_by_pairs(law);
    case Look::Kind::constants:
      return insertions_.scan(law.psi[0], terms_of(law, sample_.problem.table, ssize(law.phi)));
    default: return extend_term(law, look.term, look.base, look.replace);
  }
}

// base times candidates, beside the other terms, and beside the term itself unless it is replaced;
// of an empty base that is the candidates themselves.
double Neighbours::extend_term(const Law& law, Index term, const Trees& base, bool replace) {
  stop_if_asked();
  const Problem& problem = sample_.problem;
  const Buffer psi = values_of(law.psi[0], sample_.rows.y, problem.target_table);
  Buffer factor(psi.size(), 1.0);
  if (!base.empty()) {
    std::vector<Basis> product;
    if (!add_term(problem, base, product)) return kNothingToScan;
    factor = values_of(product[0], sample_.rows.x, problem.table);
  }
  Free others = constant_and(terms_of(law, problem.table, replace ? term : ssize(law.phi)),
                             sample_.rows.x, problem.table);
  const Index n_free = others.columns.n_columns();
  if (factor.empty() || psi.empty() || n_free == 0) return kNothingToScan;
  Space space(problem, *spaces_.candidates,
              cheapest(spaces_.candidates->terms(), base.empty() ? kExchanged : kMultipliers),
              std::move(others), factor);
  Buffer target;
  if (space.size() == 0 || space.pool.prepare(psi.data(), target) == 0.0) return kNothingToScan;
  const std::size_t count = replace ? kReplacing : kAdded;
  for (const ols::Choice& choice : space.pool.singles(target, count))
    propose(law, space, base, choice);
  return sample_.work_of({kNeighbourWork + kNeighbourFreeWork * static_cast<double>(n_free),
                          static_cast<double>(count)},
                         space.size());
}

// Two candidates beside a law of one or two terms.
double Neighbours::extend_by_pairs(const Law& law) {
  const Problem& problem = sample_.problem;
  const std::vector<Basis> terms = terms_of(law, problem.table, ssize(law.phi));
  if (sample_.level == 0 || terms.empty() || terms.size() > kPairedTerms) return kNothingToScan;
  const Buffer psi = values_of(law.psi[0], sample_.rows.y, problem.target_table);
  Free others = constant_and(terms, sample_.rows.x, problem.table);
  if (psi.empty() || others.columns.n_columns() == 0) return kNothingToScan;
  Space space(problem, *spaces_.candidates, cheapest(spaces_.candidates->terms(), kExchanged),
              std::move(others));
  Buffer target;
  if (space.size() == 0 || space.pool.prepare(psi.data(), target) == 0.0) return kNothingToScan;
  const Index first = scanner_.n_paired(space.pool);
  for (const ols::Choice& pair : space.pool.pairs(target, first, space.size(), kPairsBesideLaw))
    propose(law, space, {}, pair);
  return sample_.work_of({kPairWork, static_cast<double>(kPairsBesideLaw)}, first * space.size());
}

void Neighbours::propose(const Law& law, const Space& space, const Trees& base,
                         const ols::Choice& choice) {
  std::vector<Basis> terms = space.free.terms;
  for (const Index j : choice.columns) {
    Trees product = base;
    for (Tree& tree : space.factors(j)) product.push_back(std::move(tree));
    if (!add_term(sample_.problem, product, terms)) return;
  }
  proposer_.propose({law.psi[0]}, terms);
}

}  // namespace gsr::guide

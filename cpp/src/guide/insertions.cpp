#include "insertions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gsr/gradient.hpp"
#include "gsr/interrupt.hpp"
#include "gsr/refine.hpp"
#include "refined.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;
using composition::Operand;

// A tree with one more constant, and the value of that constant.
struct Variant {
  Tree tree;
  double weight;
};
using Each = std::function<void(const Variant&)>;

bool is_one(const Operand& operand) {
  return operand.inner.empty() && std::abs(operand.feature) == kOne;
}

// T(a) with the argument as a weighted sum.
Tree with_weights(const Tree& tree, const Table& table) {
  if (tree.argument == ArgumentType::weighted) return tree;
  Tree out{tree.transformation, ArgumentType::weighted, {}};
  if (tree.argument == ArgumentType::product) {
    out.operands.push_back(
        composition::row(composition::combine(table, ArgumentType::product, tree.operands)));
    return out;
  }
  for (Operand operand : tree.operands) {
    if (operand.negative || operand.feature < 0) operand.weight = -1.0;
    operand.negative = false;
    operand.feature = static_cast<std::int16_t>(std::abs(operand.feature));
    out.operands.push_back(std::move(operand));
  }
  return out;
}

class Inserter {
 public:
  Inserter(const Problem& problem, const Dataset& x) : table_(problem.table), x_(x) {}

  void insert(const Tree& tree, const Each& each) const {
    scale(tree, each);
    shift(tree, each);
    raise(tree, each);
    raise_features(tree, each);
    for (Index k = 0; k < ssize(tree.operands); ++k)
      if (!tree.operands[k].inner.empty())
        insert(tree.operands[k].inner[0], [&](const Variant& inner) {
          Tree outer = tree;
          outer.operands[k].inner[0] = inner.tree;
          each({std::move(outer), inner.weight});
        });
  }

 private:
  // A factor of the whole argument of a power is one of the term.
  void scale(const Tree& tree, const Each& each) const {
    Tree weighted = with_weights(tree, table_);
    const bool is_power = table_[std::abs(tree.transformation)].power != 0.0;
    if (is_power && weighted.operands.size() == 1) return;
    for (Operand& operand : weighted.operands) {
      if (std::abs(operand.weight) != 1.0) continue;
      operand.weight *= kNearOne;
      each({weighted, operand.weight});
      operand.weight /= kNearOne;
    }
  }

  void shift(const Tree& tree, const Each& each) const {
    Tree weighted = with_weights(tree, table_);
    if (std::any_of(weighted.operands.begin(), weighted.operands.end(), is_one)) return;
    Operand one = composition::one();
    one.weight = kNearZero;
    weighted.operands.push_back(one);
    each({std::move(weighted), kNearZero});
  }

  // T(a) as T(a)^p, or as a^(q p) where T is a power itself.
  void raise(const Tree& tree, const Each& each) const {
    const Transformation& t = table_[std::abs(tree.transformation)];
    const bool is_power = t.power != 0.0;
    Tree base = tree;
    if (is_power) base.transformation = static_cast<std::int16_t>(table_.identity());
    if (tree.transformation < 0) base = composition::reciprocal(base);
    const bool monomial = is_power && tree.argument == ArgumentType::product;
    if (t.name == "exp" || t.name == "exp_neg" || monomial) return;
    const double exponent = (is_power ? t.power : 1.0) * (tree.transformation < 0 ? -1.0 : 1.0);
    raise_to(base, exponent, each);
  }

  void raise_to(const Tree& base, double exponent, const Each& each) const {
    if (table_.find("exp") < 0 || table_.find("ln") < 0 || !is_positive(base)) return;
    const double weight = exponent * kNearOne;
    const Tree logarithm = composition::apply(table_, table_.find("ln"), base);
    each({composition::apply(table_, table_.find("exp"),
                             composition::scaled(table_, logarithm, weight)),
          weight});
  }

  // One feature of a product: its operands become one row.
  void raise_features(const Tree& tree, const Each& each) const {
    if (tree.argument != ArgumentType::product) return;
    for (Index k = 0; k < ssize(tree.operands); ++k) {
      const int f = std::abs(tree.operands[k].feature);
      const auto is_other = [f](const Operand& o) { return std::abs(o.feature) != f; };
      if (f == 0 || f == kOne ||
          !std::all_of(tree.operands.begin(), tree.operands.begin() + k, is_other))
        continue;
      Tree rest = tree;
      rest.operands.clear();
      double exponent = 0.0;
      for (const Operand& operand : tree.operands) {
        if (is_other(operand)) rest.operands.push_back(operand);
        if (!is_other(operand)) exponent += operand.feature > 0 ? 1.0 : -1.0;
      }
      const Tree base =
          composition::combine(table_, ArgumentType::variable, {composition::feature(f)});
      raise_to(base, exponent, [&](const Variant& power) {
        Tree product = rest;
        product.operands.push_back(composition::row(power.tree));
        each({std::move(product), power.weight});
      });
    }
  }

  bool is_positive(const Tree& tree) const {
    Basis basis;
    if (!composition::write({tree}, basis)) return false;
    const Buffer values = values_of(basis, x_, table_);
    return !values.empty() &&
           std::all_of(values.begin(), values.begin() + x_.n_rows(), [](double v) { return v > 0.0; });
  }

  const Table& table_;
  const Dataset& x_;
};

// Another start for the same constant: scales of functions that oscillate or decay have several
// minima.
std::vector<Basis> started_at(std::vector<Basis> terms, Index changed, double weight,
                              double start) {
  for (double& w : terms[changed].weights)
    if (w == weight) w = start;
  return terms;
}

}  // namespace

std::vector<Insertions::Candidate> Insertions::candidates(const std::vector<Basis>& terms) const {
  const Inserter inserter(sample_.problem, sample_.rows.x);
  std::vector<Candidate> out;
  for (Index k = 0; k < ssize(terms); ++k) {
    const Trees factors = composition::factors(terms[k]);
    for (Index f = 0; f < ssize(factors); ++f)
      inserter.insert(factors[f], [&](const Variant& variant) {
        Trees changed = factors;
        changed[f] = variant.tree;
        const std::optional<Basis> term = allowed_term(sample_.problem, changed);
        if (!term) return;
        Candidate candidate{terms, k, variant.weight};
        candidate.terms[k] = *term;
        out.push_back(std::move(candidate));
      });
  }
  return out;
}

// The derivative by the constant is a column, and what it explains beside everything that the law's
// coefficients and constants can reach is its gain.
void Insertions::score(const Buffer& psi, const std::vector<Basis>& terms,
                       std::vector<Candidate>& candidates) const {
  const Rows& rows = sample_.rows;
  Refiner law(rows.x, sample_.problem.table, rows.weights);
  const double left = law.linearise(psi.data(), terms);
  if (!std::isfinite(left) || left == 0.0) return;
  Gradient gradient(rows.x, sample_.problem.table);
  Columns slopes;
  Vector inside(law.reach().size()), space(law.reach().size());
  const Index n = rows.x.n_rows();
  const Eigen::Map<const Vector> rest(law.rest().data(), n);
  for (Candidate& candidate : candidates) {
    const Basis& term = candidate.terms[candidate.changed];
    const auto place = std::find(term.weights.begin(), term.weights.end(), candidate.weight);
    if (place == term.weights.end() || !gradient.covers(term)) continue;
    gradient.evaluate(term, slopes);
    double* slope = slopes[place - term.weights.begin()];
    for (Index i = 0; i < ssize(rows.weights); ++i) slope[i] *= rows.weights[i];
    const Eigen::Map<const Vector> column(slope, n);
    const double before = column.squaredNorm();
    law.reach().project(slope, inside.data(), space.data());
    const double beside = column.squaredNorm();
    if (!(beside > kLeastIndependent * kLeastIndependent * before)) continue;
    const double along = column.dot(rest);
    candidate.gain = along * along / (beside * left * left);
  }
}

std::vector<Insertions::Candidate> Insertions::scored(const Buffer& psi,
                                                      const std::vector<Basis>& terms) const {
  std::vector<Candidate> out = candidates(terms);
  score(psi, terms, out);
  const double least = kInsertionByChance / static_cast<double>(sample_.n_rows());
  out.erase(std::remove_if(out.begin(), out.end(),
                           [least](const Candidate& c) { return c.gain < least; }),
            out.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
  if (out.size() > kInsertions) out.resize(kInsertions);
  return out;
}

std::vector<Insertions::Refined> Insertions::refined(
    const Buffer& psi, const std::vector<Candidate>& candidates) const {
  std::vector<Refined> out;
  Refiner refiner(sample_.rows.x, sample_.problem.table, sample_.rows.weights);
  const auto add = [&](std::vector<Basis> terms) {
    stop_if_asked();
    const double left = refiner.improve(psi.data(), terms, kRefineSteps);
    if (left < kHopeless) out.push_back({std::move(terms), left});
  };
  for (const Candidate& c : candidates) {
    add(c.terms);
    for (const double start : kInsertionStarts)
      if (c.weight != kNearZero) add(started_at(c.terms, c.changed, c.weight, start * c.weight));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Refined& a, const Refined& b) { return a.left < b.left; });
  return out;
}

double Insertions::scan(const Basis& psi, const std::vector<Basis>& terms) const {
  const Problem& problem = sample_.problem;
  if (!problem.settings.constants || terms.empty()) return kNothingToScan;
  const Buffer target = values_of(psi, sample_.rows.y, problem.target_table);
  if (target.empty()) return kNothingToScan;
  std::vector<Basis> law = terms;
  double work = kNothingToScan;
  for (int depth = 0; depth < kInsertionDepth; ++depth) {
    const std::vector<Refined> found = refined(target, scored(target, law));
    work += sample_.work_of({kInsertionWork * kRefineSteps, static_cast<double>(kProposed)},
                            (kInsertions + 1) * (ssize(law) + 1));
    if (found.empty()) break;
    std::vector<std::vector<Basis>> sets;
    for (const Refined& r : found)
      if (sets.size() < kInsertionsProposed) sets.push_back(r.terms);
    propose_refined(psi, sets, sample_.rows, proposer_, problem);
    if (found[0].left < kExactly) break;
    law = found[0].terms;
  }
  return work;
}

}  // namespace gsr::guide

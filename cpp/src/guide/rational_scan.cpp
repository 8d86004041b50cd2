#include "rational_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "gsr/least_squares.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;
using composition::Operand;

// Each term is followed by its product with the left side, so that cheap ones of both stand first.
Index term_of(Index column) { return column / 2; }
bool is_multiplied(Index column) { return column % 2 != 0; }

bool holds_one(const Tree& tree) {
  return std::any_of(tree.operands.begin(), tree.operands.end(), [](const Operand& operand) {
    return std::abs(operand.feature) == kOne ||
           (!operand.inner.empty() && holds_one(operand.inner[0]));
  });
}

// A constant may not be made of a few terms: 1 + x and x, or the squares of sine and cosine. With
// these below the line, psi would be explained by itself.
bool makes_no_constant(const Trees& factors, const Table& table) {
  Index n_functions = 0;
  for (const Tree& factor : factors) {
    if (holds_one(factor) || table[std::abs(factor.transformation)].name == "square") return false;
    n_functions += composition::is_monomial(table, factor) ? 0 : 1;
  }
  return n_functions < 2;
}

bool varies(const double* values, Index n) {
  const auto [low, high] = std::minmax_element(values, values + n);
  return *high - *low > kLeastVariation * std::max(std::abs(*low), std::abs(*high));
}

void multiply(double* column, const Buffer& values) {
  for (std::size_t i = 0; i < values.size(); ++i) column[i] *= values[i];
}

// The cheapest terms of a pool that may stand in a quotient.
std::vector<Candidate> terms_of_quotients(const Space& sums, const Table& table) {
  const std::vector<Candidate> list = cheapest(sums.list, kRationalTerms);
  const Columns values = sums.candidates().values(list);
  std::vector<Candidate> out;
  for (Index j = 0; j < ssize(list); ++j) {
    const Candidate& candidate = list[static_cast<std::size_t>(j)];
    if (varies(values[j], values.n_rows()) &&
        makes_no_constant(sums.candidates().factors(candidate), table))
      out.push_back(candidate);
  }
  return out;
}

Columns with_products(const Columns& terms, const Buffer& left_side) {
  const Index n = terms.n_columns();
  Columns out(terms.n_rows(), 2 * n);
  for (Index j = 0; j < n; ++j) {
    for (const Index column : {2 * j, 2 * j + 1})
      std::copy_n(terms[j], terms.stride(), out[column]);
    multiply(out[2 * j + 1], left_side);
  }
  return out;
}

Columns ones(Index n_rows) {
  Columns out(n_rows, 1);
  std::fill_n(out[0], n_rows, 1.0);
  return out;
}

// The left side of a goal in all rows of the search.
Buffer left_side(const Goal& goal, const Problem& problem) {
  Buffer out = values_of(goal.psi, problem.y, problem.target_table);
  if (out.empty() || goal.prefactor.empty()) return out;
  const Buffer divisor = values_of(goal.prefactor, problem.x, problem.table);
  if (divisor.empty()) return {};
  for (Index i = 0; i < problem.x.n_rows(); ++i) out[i] /= divisor[i];
  return out;
}

// Coefficients of the constant and of the terms; empty if they depend on each other.
std::vector<double> fitted(const std::vector<Buffer>& columns, Buffer target, Index n_rows) {
  Orthogonalizer qr;
  qr.reset(n_rows, ssize(columns));
  for (const Buffer& column : columns)
    if (!qr.push(column.data(), kDependentTerm)) return {};
  Vector projected(qr.size());
  std::vector<double> out(columns.size());
  qr.project(target.data(), projected.data());
  qr.solve(projected.data(), out.data());
  return out;
}

// The nearest simple number, if the coefficient is one.
double rounded(double weight) {
  const double whole = std::round(weight * kWeightParts) / kWeightParts;
  return std::abs(whole - weight) < kSameWeight * std::abs(weight) ? whole : weight;
}

// 1 + sum b_k phi_k, without constants inside where all are 1 or -1.
Tree denominator(const std::vector<std::pair<Tree, double>>& terms, const Table& table) {
  const bool plain = std::all_of(terms.begin(), terms.end(),
                                 [](const auto& term) { return std::abs(term.second) == 1.0; });
  std::vector<Operand> operands{composition::one()};
  for (const auto& [tree, weight] : terms) {
    operands.push_back(composition::row(tree, plain && weight < 0.0));
    if (!plain) operands.back().weight = weight;
  }
  return composition::combine(table, plain ? ArgumentType::sum : ArgumentType::weighted,
                              std::move(operands));
}

// Whether the denominator is rounding in some row, or undefined.
bool below_vanishes(const std::vector<std::pair<Tree, double>>& terms, const Problem& problem) {
  const Index n = problem.x.n_rows();
  Vector sum = Vector::Ones(n), size = sum;
  for (const auto& [tree, weight] : terms) {
    std::vector<Basis> made;
    if (!add_term(problem, {tree}, made)) return true;
    const Buffer values = values_of(made[0], problem.x, problem.table);
    if (values.empty()) return true;
    const Eigen::Map<const Vector> column(values.data(), n);
    sum += weight * column;
    size += (weight * column).cwiseAbs();
  }
  return (sum.array().abs() < kVanishes * size.array()).any();
}

}  // namespace

double RationalScan::scan(const Space& sums, const Goal& goal) const {
  const Settings& settings = sample_.problem.settings;
  const Law* known = proposer_.archive().best_exact();
  const bool solved = known != nullptr && known->bits <= kShortExactLaw;
  if (solved || !settings.constants || !settings.division || settings.depth < 2)
    return kNothingToScan;
  const std::vector<Candidate> terms = terms_of_quotients(sums, sample_.problem.table);
  const ols::Pool pool(with_products(sums.candidates().values(terms), goal.values),
                       ones(sample_.n_rows()));
  Buffer target;
  if (pool.size() == 0 || pool.prepare(goal.values.data(), target) == 0.0) return kNothingToScan;
  std::vector<ols::Choice> choices = pool.forward(target, kRationalBeam.depth, kRationalBeam.width);
  const Index few = std::min(pool.size(), kRationalTriples);
  for (const std::vector<ols::Choice>& more :
       {pool.pairs(target, pool.size(), pool.size(), kRationalKept),
        pool.triples(target, few, few, kRationalKept)})
    choices.insert(choices.end(), more.begin(), more.end());
  for (const ols::Choice& choice : choices)
    if (choice.rest < kLeftByRational &&
        std::any_of(choice.columns.begin(), choice.columns.end(), is_multiplied))
      propose(sums.candidates(), terms, goal, choice);
  return sample_.work_of(kRationalWork, pool.size());
}

void RationalScan::propose(const Candidates& candidates, const std::vector<Candidate>& list,
                           const Goal& goal, const ols::Choice& choice) const {
  const Problem& problem = sample_.problem;
  const Table& table = problem.table;
  const auto factors_of = [&](Index column) {
    return candidates.factors(list[static_cast<std::size_t>(term_of(column))]);
  };
  const Buffer left = left_side(goal, problem);
  if (left.empty()) return;
  std::vector<Buffer> columns{Buffer(left.size(), 0.0)};
  std::fill_n(columns[0].begin(), problem.x.n_rows(), 1.0);
  for (const Index column : choice.columns) {
    std::vector<Basis> made;
    if (!add_term(problem, factors_of(column), made)) return;
    columns.push_back(values_of(made[0], problem.x, table));
    if (columns.back().empty()) return;
    if (is_multiplied(column)) multiply(columns.back().data(), left);
  }
  const std::vector<double> coefficients = fitted(columns, left, problem.x.n_rows());
  if (coefficients.empty()) return;
  std::vector<Trees> numerator{{}};
  std::vector<std::pair<Tree, double>> below;
  for (std::size_t k = 0; k < choice.columns.size(); ++k) {
    const Trees factors = factors_of(choice.columns[k]);
    if (is_multiplied(choice.columns[k])) {
      below.emplace_back(composition::product(table, factors), rounded(-coefficients[k + 1]));
    } else {
      numerator.push_back(factors);
    }
  }
  if (below_vanishes(below, problem)) return;
  const Tree divisor = composition::reciprocal(denominator(below, table));
  std::vector<Basis> terms;
  for (Trees factors : numerator) {
    if (!goal.prefactor.empty()) factors.push_back(monomial_tree(table, goal.prefactor));
    factors.push_back(divisor);
    if (!add_term(problem, factors, terms)) return;
  }
  proposer_.propose({goal.psi}, terms);
}

}  // namespace gsr::guide

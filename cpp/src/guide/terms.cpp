#include "terms.hpp"

#include "tuning.hpp"

namespace gsr::guide {

bool add_term(const Problem& problem, const Trees& factors, std::vector<Basis>& out) {
  for (const Tree& tree : factors)
    if (!composition::allowed(tree, problem.table, problem.settings)) return false;
  Basis basis;
  if (!composition::write(factors, basis)) return false;
  out.push_back(canonical(basis, problem.table, kMaxVariables));
  return true;
}

std::optional<Basis> allowed_term(const Problem& problem, const Trees& factors) {
  std::vector<Basis> made;
  if (!add_term(problem, factors, made)) return std::nullopt;
  if (problem.constraints.restricts_bases() && !problem.constraints.admits(made[0], problem.table))
    return std::nullopt;
  return made[0];
}

bool may_carry_constant(const Problem& problem, const Tree& tree) {
  const Constraints& known = problem.constraints;
  if (!composition::allowed(tree, problem.table, problem.settings)) return false;
  if (!known.restricts_bases()) return true;
  Basis basis;
  if (!composition::write({tree}, basis)) return false;
  if (!known.admits(basis, problem.table)) return false;
  return !known.restricts_units() || known.dimension(basis, problem.table)->is_one();
}

bool admits_target(const Problem& problem, const Basis& psi) {
  return problem.constraints.admits_target(psi, problem.target_table);
}

Buffer values_of(const Basis& basis, const Dataset& data, const Table& table) {
  Buffer out(data.features.stride(), 0.0);
  if (!Evaluator(data, table, tuning::kEvaluatorBytes).evaluate(basis, out.data())) out.clear();
  return out;
}

Buffer values_of(const Monomial& monomial, const Dataset& x, const Table& table) {
  Basis basis;
  if (!composition::write({monomial_tree(table, monomial)}, basis)) return {};
  return values_of(basis, x, table);
}

Columns weighed(Columns columns, const Buffer& weights) {
  for (Index j = 0; j < columns.n_columns(); ++j)
    for (Index i = 0; i < ssize(weights); ++i) columns[j][i] *= weights[i];
  return columns;
}

}  // namespace gsr::guide

#include "gsr/composition.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace gsr::composition {
namespace {

constexpr int kWeightCost = 2;  // a constant and a product

Tree read(const Basis& basis, int i) {
  const Row& row = basis.rows[i];
  Tree tree{row.transformation, row.argument, {}};
  auto weight = static_cast<std::size_t>(basis.first_weight(i));
  for (const std::int16_t v : row.variables) {
    if (v == 0) continue;
    if (row.argument == ArgumentType::variable && !tree.operands.empty()) break;
    Operand operand;
    if (row.argument == ArgumentType::weighted) operand.weight = basis.weights[weight++];
    if (std::abs(v) > kOne) {
      operand.negative = v < 0;
      operand.inner.push_back(read(basis, std::abs(v) - kOne - 1));
    } else {
      operand.feature = v;
    }
    tree.operands.push_back(std::move(operand));
  }
  return tree;
}

bool less_operand(const Operand& a, const Operand& b) {
  if (a.inner.empty() != b.inner.empty()) return a.inner.empty();
  const auto key = [](const Operand& o) {
    return std::make_tuple(std::abs(o.feature), o.feature < 0 || o.negative, o.weight);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return !a.inner.empty() && less(a.inner[0], b.inner[0]);
}

// Rows of inner trees follow their users, so that references always point down.
bool place(const Tree& tree, std::size_t at, Basis& basis,
           std::vector<std::vector<double>>& weights) {
  if (tree.operands.size() > kMaxVariables) return false;
  Row row;
  row.transformation = tree.transformation;
  row.argument = tree.argument;
  for (std::size_t k = 0; k < tree.operands.size(); ++k) {
    const Operand& operand = tree.operands[k];
    if (tree.argument == ArgumentType::weighted) weights[at].push_back(operand.weight);
    row.variables[k] = operand.feature;
    if (operand.inner.empty()) continue;
    if (basis.size == kMaxRows) return false;
    const auto below = static_cast<std::size_t>(basis.size++);
    const auto reference = static_cast<std::int16_t>(kOne + static_cast<int>(below) + 1);
    row.variables[k] = static_cast<std::int16_t>(operand.negative ? -reference : reference);
    if (!place(operand.inner[0], below, basis, weights)) return false;
  }
  basis.rows[at] = row;
  return true;
}

bool passes_on(const Tree& tree, const Table& table) {
  return tree.transformation == table.identity() && tree.argument == ArgumentType::variable &&
         tree.operands.size() == 1;
}

bool is_negative(const Operand& operand) { return operand.feature < 0 || operand.negative; }

void negate(Operand& operand) {
  if (operand.inner.empty()) {
    operand.feature = static_cast<std::int16_t>(-operand.feature);
  } else {
    operand.negative = !operand.negative;
  }
}

// An inner row that only passes its operand on is that operand.
void inline_identity(Tree& tree, const Table& table) {
  for (Operand& operand : tree.operands) {
    if (operand.inner.empty() || !passes_on(operand.inner[0], table)) continue;
    Operand only = operand.inner[0].operands[0];
    // In a product a minus means division, so a sign stays where it is.
    if (tree.argument == ArgumentType::product && is_negative(only)) continue;
    only.weight = operand.weight;
    if (operand.negative) negate(only);
    if (tree.argument == ArgumentType::weighted && is_negative(only)) {
      negate(only);
      only.weight = -only.weight;
    }
    operand = only;
  }
}

int operand_complexity(const Operand& operand, int multiplicity, ArgumentType argument,
                       const Table& table) {
  if (operand.inner.empty() && operand.weight == 1.0)
    return group_complexity(argument, multiplicity);
  const int weight = operand.weight == 1.0 ? 0 : kWeightCost;
  return weight + (operand.inner.empty() ? 1 : complexity(operand.inner[0], table));
}

}  // namespace

Operand feature(int v) {
  Operand operand;
  operand.feature = static_cast<std::int16_t>(v);
  return operand;
}

Operand one(bool negative) { return feature(negative ? -kOne : kOne); }

Operand row(Tree tree, bool negative) {
  Operand operand;
  operand.negative = negative;
  operand.inner.push_back(std::move(tree));
  return operand;
}

Tree combine(const Table& table, ArgumentType argument, std::vector<Operand> operands) {
  Tree tree{static_cast<std::int16_t>(table.identity()), argument, std::move(operands)};
  inline_identity(tree, table);
  return tree;
}

Tree apply(const Table& table, int code, const Tree& tree) {
  if (tree.transformation == table.identity())
    return {static_cast<std::int16_t>(code), tree.argument, tree.operands};
  return {static_cast<std::int16_t>(code), ArgumentType::variable, {row(tree)}};
}

Tree argument(const Table& table, const Tree& tree) {
  const bool lone = tree.argument == ArgumentType::variable && !tree.operands[0].inner.empty();
  if (lone && !tree.operands[0].negative) return tree.operands[0].inner[0];
  return {static_cast<std::int16_t>(table.identity()), tree.argument, tree.operands};
}

int only_feature(const Tree& tree) {
  int only = 0;
  for (const Operand& operand : tree.operands) {
    const int size = std::abs(operand.feature);
    if (size == kOne) continue;
    const int feature = operand.inner.empty() ? size : only_feature(operand.inner[0]);
    if (feature == 0 || (only != 0 && only != feature)) return 0;
    only = feature;
  }
  return only;
}

bool is_monomial(const Table& table, const Tree& tree) {
  if (tree.transformation != table.identity() || tree.argument == ArgumentType::sum ||
      tree.argument == ArgumentType::weighted)
    return false;
  if (tree.argument == ArgumentType::variable && tree.operands[0].feature < 0) return false;
  return std::all_of(tree.operands.begin(), tree.operands.end(), [](const Operand& operand) {
    return operand.feature != 0 && std::abs(operand.feature) < kOne;
  });
}

Tree product(const Table& table, const std::vector<Tree>& factors) {
  if (factors.size() == 1) return factors[0];
  std::vector<Operand> operands;
  for (const Tree& factor : factors) {
    const bool monomial =
        factor.transformation == table.identity() &&
        (factor.argument == ArgumentType::product || (factor.argument == ArgumentType::variable));
    if (monomial) {
      operands.insert(operands.end(), factor.operands.begin(), factor.operands.end());
    } else {
      operands.push_back(row(factor));
    }
  }
  return combine(table, ArgumentType::product, std::move(operands));
}

Tree scaled(const Table& table, const Tree& tree, double factor) {
  Operand operand = row(tree);
  operand.weight = factor;
  return combine(table, ArgumentType::weighted, {std::move(operand)});
}

Tree reciprocal(Tree tree) {
  tree.transformation = static_cast<std::int16_t>(-tree.transformation);
  return tree;
}

int group_complexity(ArgumentType argument, int multiplicity) {
  if (argument != ArgumentType::product) return multiplicity == 1 ? 1 : 3;
  int cost = 1;
  for (int reach = 1; reach < multiplicity; reach *= 2) ++cost;
  return cost;
}

std::vector<Tree> factors(const Basis& basis) {
  std::vector<Tree> out;
  for (int i = 0; i < basis.size; ++i)
    if (!basis.is_inner(i)) out.push_back(read(basis, i));
  return out;
}

bool write(const std::vector<Tree>& factors, Basis& basis) {
  basis = Basis{};
  if (factors.size() > kMaxRows) return false;
  basis.size = static_cast<std::int16_t>(factors.size());
  std::vector<std::vector<double>> weights(kMaxRows);
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (!place(factors[i], i, basis, weights)) return false;
  std::size_t n = 0;
  for (const auto& of_row : weights)
    for (const double w : of_row) {
      if (n == kMaxWeights) return false;
      basis.weights[n++] = w;
    }
  return true;
}

Tree canonical(Tree tree, const Table& table) {
  for (Operand& operand : tree.operands)
    if (!operand.inner.empty()) operand.inner[0] = canonical(std::move(operand.inner[0]), table);
  inline_identity(tree, table);
  std::sort(tree.operands.begin(), tree.operands.end(), less_operand);
  if (tree.operands.size() == 1 && tree.argument != ArgumentType::weighted &&
      !(tree.argument == ArgumentType::product &&
        (tree.operands[0].negative || tree.operands[0].feature < 0)))
    tree.argument = ArgumentType::variable;
  return tree;
}

bool allowed(const Tree& tree, const Table& table, const Settings& settings) {
  if (tree.transformation < 0 && !settings.division) return false;
  if (tree.argument == ArgumentType::weighted && !settings.constants) return false;
  for (const Operand& operand : tree.operands) {
    const bool negative = operand.negative || operand.feature < 0;
    const bool in_product = tree.argument == ArgumentType::product;
    if (negative && !(in_product ? settings.division : settings.differences)) return false;
    if (std::abs(operand.feature) == kOne && !settings.one) return false;
    if (operand.inner.empty()) continue;
    // Powers and products inside a sum are its operands; a function in there is one level deeper.
    Settings inner = settings;
    if (operand.inner[0].transformation != table.identity()) --inner.depth;
    if (settings.depth < 2 || inner.depth < 1 || !allowed(operand.inner[0], table, inner))
      return false;
  }
  return true;
}

bool less(const Tree& a, const Tree& b) {
  const auto key = [](const Tree& t) { return std::make_pair(t.transformation, t.argument); };
  if (key(a) != key(b)) return key(a) < key(b);
  return std::lexicographical_compare(a.operands.begin(), a.operands.end(), b.operands.begin(),
                                      b.operands.end(), less_operand);
}

int complexity(const Tree& tree, const Table& table) {
  const Transformation& t = table[std::abs(tree.transformation)];
  int nodes = t.cost + (tree.transformation < 0 ? 1 : 0);
  if (tree.operands.empty()) return nodes;
  bool all_divided = tree.argument == ArgumentType::product;
  for (std::size_t k = 0; k < tree.operands.size();) {
    const Operand& operand = tree.operands[k];
    std::size_t end = k + 1;
    while (end < tree.operands.size() && operand.feature != 0 && operand.weight == 1.0 &&
           tree.operands[end].feature == operand.feature && tree.operands[end].weight == 1.0)
      ++end;
    nodes += operand_complexity(operand, static_cast<int>(end - k), tree.argument, table) + 1;
    all_divided = all_divided && (operand.feature < 0 || operand.negative);
    k = end;
  }
  return nodes - 1 + (all_divided ? 1 : 0);
}

int function_nodes(const Tree& tree, const Table& table) {
  const int code = std::abs(tree.transformation);
  int nodes = (code == table.identity() || code == table.constant() ? 0 : 1) +
              (tree.transformation < 0 ? 1 : 0) +
              std::max(0, static_cast<int>(tree.operands.size()) - 1);
  for (const Operand& operand : tree.operands) {
    if (operand.weight != 1.0) ++nodes;
    if (!operand.inner.empty()) nodes += function_nodes(operand.inner[0], table);
  }
  return nodes;
}

}  // namespace gsr::composition

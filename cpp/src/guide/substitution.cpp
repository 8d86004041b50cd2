#include "substitution.hpp"

#include <algorithm>
#include <cstdlib>

namespace gsr::guide {
namespace {

using composition::Operand;

bool is_product(const Tree& tree, const Table& table) {
  return tree.transformation == table.identity() &&
         (tree.argument == ArgumentType::product ||
          (tree.argument == ArgumentType::variable && tree.operands[0].feature > 0));
}

// x and 1/x cancel.
void multiply(std::vector<Operand>& product, const Operand& factor) {
  const auto cancels = [&](const Operand& o) {
    return factor.inner.empty() && o.inner.empty() && o.feature == -factor.feature;
  };
  const auto found = std::find_if(product.begin(), product.end(), cancels);
  if (found == product.end()) {
    product.push_back(factor);
  } else {
    product.erase(found);
  }
}

// Without rows for what can stand in the row itself.
Tree flattened(Tree tree, const Table& table) {
  const std::vector<Operand>& operands = tree.operands;
  if (tree.argument == ArgumentType::variable && !operands.empty() && !operands[0].inner.empty() &&
      !operands[0].negative && operands[0].inner[0].transformation == table.identity()) {
    Tree inner = operands[0].inner[0];
    inner.transformation = tree.transformation;
    return inner;
  }
  if (tree.argument != ArgumentType::product) return tree;
  std::vector<Operand> flat;
  for (const Operand& operand : operands) {
    if (operand.inner.empty() || !is_product(operand.inner[0], table)) {
      multiply(flat, operand);
      continue;
    }
    for (Operand factor : operand.inner[0].operands) {
      if (operand.negative && factor.inner.empty())
        factor.feature = static_cast<std::int16_t>(-factor.feature);
      if (operand.negative && !factor.inner.empty()) factor.negative = !factor.negative;
      multiply(flat, factor);
    }
  }
  if (flat.empty()) flat.push_back(composition::one());
  if (ssize(flat) <= kMaxVariables) tree.operands = std::move(flat);
  return tree;
}

}  // namespace

// A product of powers in one row, as far as it has room: else a power is a row of its own.
Tree product_of_powers(const Trees& bases, const Eigen::VectorXi& exponents, const Table& table) {
  const bool crowded = exponents.cwiseAbs().sum() > kMaxVariables;
  std::vector<Operand> operands;
  const auto push = [&](Tree tree, bool divided) {
    const bool feature = tree.transformation == table.identity() &&
                         tree.argument == ArgumentType::variable && tree.operands[0].feature > 0;
    operands.push_back(feature ? composition::feature(divided ? -tree.operands[0].feature
                                                              : tree.operands[0].feature)
                               : composition::row(std::move(tree), divided));
  };
  for (Index k = 0; k < exponents.size(); ++k) {
    const int n = std::abs(exponents(k));
    if (n > 1 && crowded) {
      const Tree& base = bases[static_cast<std::size_t>(k)];
      push(composition::product(table, Trees(static_cast<std::size_t>(n), base)), exponents(k) < 0);
    } else {
      for (int i = 0; i < n; ++i) push(bases[static_cast<std::size_t>(k)], exponents(k) < 0);
    }
  }
  if (operands.empty()) operands.push_back(composition::one());
  const bool lone = operands.size() == 1 && operands[0].feature > 0;
  return composition::combine(table, lone ? ArgumentType::variable : ArgumentType::product,
                              std::move(operands));
}

Tree substituted(const Tree& tree, const Trees& variables, const Table& table) {
  Tree out = tree;
  out.operands.clear();
  for (const Operand& operand : tree.operands) {
    if (!operand.inner.empty()) {
      out.operands.push_back(operand);
      out.operands.back().inner[0] = substituted(operand.inner[0], variables, table);
      continue;
    }
    if (std::abs(operand.feature) == kOne) {
      out.operands.push_back(operand);
      continue;
    }
    out.operands.push_back(composition::row(
        variables[static_cast<std::size_t>(std::abs(operand.feature) - 1)], operand.feature < 0));
    out.operands.back().weight = operand.weight;
  }
  return composition::canonical(flattened(std::move(out), table), table);
}

}  // namespace gsr::guide

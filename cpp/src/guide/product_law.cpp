#include "product_law.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "tuning.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// The half-integer that an exponent stands for, in halves; false if it stands for none.
bool snapped(double exponent, double tolerance, int& halves) {
  halves = static_cast<int>(std::lround(2.0 * exponent));
  return std::abs(halves) <= kMostHalves && std::abs(exponent - 0.5 * halves) <= tolerance;
}

// A product of powers of features, in halves, as a monomial and its root.
bool add_powers(const std::map<int, int>& halves_of, const Table& table, Trees& factors) {
  Monomial whole, root;
  for (const auto& [f, halves] : halves_of) {
    if (halves / 2 != 0) whole.emplace_back(f, halves / 2);
    if (halves % 2 != 0) root.emplace_back(f, halves % 2);
  }
  if (!whole.empty()) factors.push_back(monomial_tree(table, whole));
  if (root.empty()) return true;
  if (table.find("sqrt") < 0) return false;
  factors.push_back(composition::apply(table, table.find("sqrt"), monomial_tree(table, root)));
  return true;
}

// exp(c t); without a constant inside if c is 1 or -1, which is `unit`.
Tree exponential(const Trees& term, double c, int unit, const Table& table) {
  const Tree argument = composition::product(table, term);
  Tree out = composition::apply(table, table.find("exp"),
                                unit != 0 ? argument : composition::scaled(table, argument, c));
  return unit < 0 ? composition::reciprocal(std::move(out)) : out;
}

}  // namespace

bool product_factors(const Law& law, const Monomial& prefactor, const Table& table,
                     double tolerance, Trees& factors) {
  std::map<int, int> halves_of;
  for (const auto& [f, p] : prefactor) halves_of[f] = 2 * p;
  for (Index k = 0; k < ssize(law.phi); ++k) {
    if (is_constant(law.phi[k], table)) continue;
    const Trees term = composition::factors(law.phi[k]);
    int halves = 0;
    const bool simple = snapped(law.alpha[k], tolerance, halves);
    if (term.size() == 1 && term[0].transformation == table.find("ln")) {
      if (!simple) return false;
      const Tree inside = composition::argument(table, term[0]);
      if (composition::is_monomial(table, inside)) {
        for (const composition::Operand& operand : inside.operands)
          halves_of[std::abs(operand.feature)] += operand.feature > 0 ? halves : -halves;
      } else if (!power_factors(table, inside, halves, factors)) {
        return false;
      }
      continue;
    }
    if (table.find("exp") < 0) return false;
    const int unit = simple && std::abs(halves) == 2 ? halves : 0;
    factors.push_back(exponential(term, law.alpha[k], unit, table));
  }
  return add_powers(halves_of, table, factors);
}

}  // namespace gsr::guide

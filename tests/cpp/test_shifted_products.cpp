#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "fixtures.hpp"
#include "gsr/targets.hpp"
#include "guide/shifted_products.hpp"

using namespace gsr;
using namespace gsr::guide;
using namespace gsr::testing;

namespace {

template <typename Law>
Problem posed(Index n_features, Law law) {
  Dataset x{drawn(300, n_features, 1.0, 3.0)};
  Columns y(300, 1);
  for (Index i = 0; i < 300; ++i) y[0][i] = law([&](int f) { return x.features[f - 1][i]; });
  return Problem{std::move(x), Dataset{std::move(y)}, table(), table(), Settings{}};
}

bool has(const std::vector<Goal>& goals, const Basis& plain, const Monomial& prefactor) {
  return std::any_of(goals.begin(), goals.end(), [&](const Goal& goal) {
    return goal.plain == plain && goal.prefactor == prefactor;
  });
}

ShiftedProducts found_for(const Problem& problem) {
  Sample sample(problem);
  sample.rows = choose_rows(problem, 60);
  Goal logarithm;
  logarithm.psi = log_targets(table(), problem.settings)[0].logarithm;
  return shifted_products(sample, {}, logarithm);
}

const Monomial kPrefactor{{1, 1}, {2, -1}, {3, 1}};

}  // namespace

TEST_CASE("a prefactor is among the likely ones where the product beside it is small") {
  const Problem problem = posed(5, [](auto x) {
    return x(1) * x(3) / x(2) + 0.02 * x(2) * x(2) * x(4) / std::pow(x(2) + x(5), 2);
  });
  const Basis plain = power_targets(table(), problem.settings)[0];
  CHECK(has(found_for(problem).likely, plain, kPrefactor));
}

TEST_CASE("a prefactor is among the others where the product is far from powers") {
  const Problem problem = posed(
      5, [](auto x) { return x(1) * x(3) / x(2) + 0.02 * x(2) * x(2) * std::exp(-x(4) * x(5)); });
  const Basis plain = power_targets(table(), problem.settings)[0];
  CHECK(has(found_for(problem).others, plain, kPrefactor));
}

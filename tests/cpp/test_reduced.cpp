#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/reduced.hpp"

using namespace gsr;
using namespace gsr::testing;

TEST_CASE("subsets of columns are fitted in coordinates as on the rows") {
  const Columns columns = drawn(90, 3, -1.0, 1.0);
  Reduced reduced;
  reduced.reset(90, 4, 1);
  Buffer one(static_cast<std::size_t>(columns.stride()), 0.0);
  std::fill_n(one.begin(), 90, 1.0);
  REQUIRE(reduced.push_column(one.data(), -1));
  for (int j = 0; j < 3; ++j) REQUIRE(reduced.push_column(columns[j], j));
  Buffer target(one.size(), 0.0);
  for (Index i = 0; i < 90; ++i)
    target[static_cast<std::size_t>(i)] = 2.0 + columns[0][i] - 3.0 * columns[2][i];
  reduced.push_target(target.data(), 1.0);
  reduced.finish();
  REQUIRE(reduced.n_targets() == 1);

  SubsetFit fit;
  fit.resize(8, 4, 1);
  fit.solve(reduced, {0, 1, 3});
  CHECK(fit.error() < 1e-12);
  CHECK(fit.alpha()(2) / fit.alpha()(1) == doctest::Approx(-3.0));
  CHECK(fit.removal_cost()(2) > fit.removal_cost()(1));
  fit.solve(reduced, {0, 1});
  CHECK(fit.error() > 0.1);
}

TEST_CASE("a constant target is dropped") {
  const Columns columns = drawn(30, 1, -1.0, 1.0);
  Reduced reduced;
  reduced.reset(30, 2, 1);
  Buffer one(static_cast<std::size_t>(columns.stride()), 0.0);
  std::fill_n(one.begin(), 30, 1.0);
  reduced.push_column(one.data(), -1);
  reduced.push_column(columns[0], 0);
  reduced.push_target(one.data(), 1.0);
  reduced.finish();
  CHECK(reduced.n_targets() == 0);
}

#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/reduced.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

Buffer ones(const Columns& columns) {
  Buffer out(static_cast<std::size_t>(columns.stride()), 0.0);
  std::fill_n(out.begin(), columns.n_rows(), 1.0);
  return out;
}

// The constant and all columns.
void push_all(const Columns& columns, Reduced& reduced) {
  reduced.reset(columns.n_rows(), columns.n_columns() + 1, 1);
  REQUIRE(reduced.push_column(ones(columns).data(), -1));
  for (int j = 0; j < columns.n_columns(); ++j) REQUIRE(reduced.push_column(columns[j], j));
}

}  // namespace

TEST_CASE("subsets of columns are fitted in coordinates as on the rows") {
  const Columns columns = drawn(90, 3, -1.0, 1.0);
  Reduced reduced;
  push_all(columns, reduced);
  Buffer target(static_cast<std::size_t>(columns.stride()), 0.0);
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
  push_all(columns, reduced);
  reduced.push_target(ones(columns).data(), 1.0);
  reduced.finish();
  CHECK(reduced.n_targets() == 0);
}

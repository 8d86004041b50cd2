#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/least_squares.hpp"
#include "gsr/ols.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

Buffer combination(const Columns& columns, const std::vector<std::pair<Index, double>>& terms) {
  Buffer out(static_cast<std::size_t>(columns.stride()), 0.0);
  for (const auto& [j, coefficient] : terms)
    for (Index i = 0; i < columns.n_rows(); ++i)
      out[static_cast<std::size_t>(i)] += coefficient * columns[j][i];
  return out;
}

Columns ones(Index n_rows) {
  Columns out(n_rows, 1);
  std::fill_n(out[0], n_rows, 1.0);
  return out;
}

}  // namespace

TEST_CASE("coefficients of an exact combination are found") {
  const Columns columns = drawn(50, 3, -1.0, 1.0);
  Orthogonalizer qr;
  qr.reset(50, 3);
  for (Index j = 0; j < 3; ++j) REQUIRE(qr.push(columns[j]));
  Buffer target = combination(columns, {{0, 2.0}, {1, -3.0}, {2, 0.5}});
  Vector inside(3), alpha(3);
  qr.project(target.data(), inside.data());
  qr.solve(inside.data(), alpha.data());
  CHECK(alpha(0) == doctest::Approx(2.0));
  CHECK(alpha(1) == doctest::Approx(-3.0));
  CHECK(alpha(2) == doctest::Approx(0.5));
  for (const double rest : target) CHECK(std::abs(rest) < 1e-14);
}

TEST_CASE("a dependent column is refused, and a truncated basis accepts it again") {
  Columns columns = drawn(20, 2, -1.0, 1.0);
  Orthogonalizer qr;
  qr.reset(20, 3);
  REQUIRE(qr.push(columns[0]));
  REQUIRE(qr.push(columns[1]));
  CHECK_FALSE(qr.push(combination(columns, {{0, 1.0}, {1, 1.0}}).data()));
  qr.truncate(1);
  CHECK(qr.size() == 1);
  CHECK(qr.push(columns[1]));
}

TEST_CASE("scans of a pool find the columns that make up the target") {
  const Columns columns = drawn(80, 30, -1.0, 1.0);
  ols::Pool pool(columns, ones(80));
  Buffer target;
  pool.prepare(combination(columns, {{7, 1.0}, {21, -0.4}}).data(), target);

  const std::vector<ols::Choice> pairs = pool.pairs(target, 30, 30, 1);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].columns == std::vector<Index>{7, 21});
  CHECK(pairs[0].rest < 1e-12);

  const std::vector<ols::Choice> greedy = pool.forward(target, 2, 2);
  CHECK(std::any_of(greedy.begin(), greedy.end(),
                    [](const ols::Choice& choice) { return choice.rest < 1e-12; }));
}

TEST_CASE("the best column of many targets is that of each alone") {
  const Columns columns = drawn(50, 600, -1.0, 1.0);
  ols::Pool pool(columns, ones(50));
  std::vector<Buffer> targets(3);
  pool.prepare(combination(columns, {{5, 1.0}, {21, 0.1}}).data(), targets[0]);
  pool.prepare(combination(columns, {{599, -2.0}}).data(), targets[1]);
  pool.prepare(drawn(50, 1, -1.0, 1.0, 7)[0], targets[2]);
  const std::vector<ols::Choice> best = pool.singles(targets);
  REQUIRE(best.size() == 3);
  for (std::size_t t = 0; t < 3; ++t) {
    const ols::Choice alone = pool.singles(targets[t], 1)[0];
    CHECK(best[t].columns == alone.columns);
    CHECK(best[t].rest == doctest::Approx(alone.rest));
  }
  CHECK(best[1].rest < 1e-12);
}

TEST_CASE("a triple is found where no pair explains the target") {
  const Columns columns = drawn(60, 12, -1.0, 1.0);
  ols::Pool pool(columns, ones(60));
  Buffer target;
  pool.prepare(combination(columns, {{1, 1.0}, {4, 1.0}, {9, 1.0}}).data(), target);
  const std::vector<ols::Choice> triples = pool.triples(target, pool.size(), pool.size(), 1);
  REQUIRE(triples.size() == 1);
  std::vector<Index> found = triples[0].columns;
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<Index>{1, 4, 9});
}

TEST_CASE("parts of a scan for pairs cover the whole") {
  const Columns columns = drawn(40, 70, -1.0, 1.0);
  ols::Pool pool(columns, ones(40));
  Buffer target;
  pool.prepare(combination(columns, {{3, 1.0}, {66, 2.0}}).data(), target);
  const auto best = [&](int part) {
    return pool.pairs(std::vector<Buffer>{target}, 70, 70, 1, {part, 2})[0][0].rest;
  };
  CHECK(std::min(best(0), best(1)) < 1e-12);
}

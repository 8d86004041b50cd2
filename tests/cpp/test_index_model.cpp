#include <doctest/doctest.h>

#include <cmath>

#include "fixtures.hpp"
#include "guide/index_model.hpp"
#include "guide/similarity.hpp"
#include "guide/substitution.hpp"

using namespace gsr;
using namespace gsr::guide;
using namespace gsr::testing;

namespace {

Matrix centred(Index n_rows, Index n_columns) {
  const Columns drawn_columns = drawn(n_rows, n_columns, -1.0, 1.0);
  Matrix z(n_rows, n_columns);
  for (Index j = 0; j < n_columns; ++j)
    z.col(j) = Eigen::Map<const Vector>(drawn_columns[j], n_rows);
  z.rowwise() -= z.colwise().mean().eval();
  return z;
}

Eigen::VectorXi whole(std::initializer_list<int> values) {
  Eigen::VectorXi out(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), out.begin());
  return out;
}

template <typename Law> Problem posed(int n_features, double low, Law law) {
  Dataset x{drawn(400, n_features, low, 3.0)};
  Columns y(400, 1);
  for (Index i = 0; i < 400; ++i)
    y[0][i] = law([&](int f) { return x.features[f - 1][i]; });
  Settings settings;
  settings.division = settings.differences = true;
  settings.depth = 3;
  return Problem{std::move(x), Dataset{std::move(y)}, table(), table(),
                 settings};
}

} // namespace

TEST_CASE("one direction beside a linear part is found and rounded") {
  const Matrix z = centred(400, 4);
  const Vector u = z * Vector{{2.0, -1.0, 0.0, 0.0}};
  const Vector target = u.array().cosh().log() + 1.5 * z.col(2).array();
  const IndexModel::Fit fit = IndexModel(z, target, true).fit(1);
  CHECK(fit.left < 1e-3);
  const std::vector<Exponents> ways = rounded(fit);
  const Exponents wanted{whole({2, -1, 0, 0}), whole({0, 0, 3, 0})};
  CHECK(std::any_of(ways.begin(), ways.end(), [&](const Exponents &way) {
    return (way.directions == wanted.directions ||
            way.directions == -wanted.directions) &&
           way.twice_linear(2) == 3;
  }));
}

TEST_CASE("two directions are found as the space that they span") {
  const Matrix z = centred(500, 4);
  const Vector u = z.col(0) - z.col(1), v = z.col(2);
  const Vector target =
      (u.array().exp() + v.array().square()).log() - z.col(3).array();
  const IndexModel::Fit fit = IndexModel(z, target, true).fit(2);
  CHECK(fit.left < 1e-2);
  const std::vector<Exponents> ways = rounded(fit);
  REQUIRE_FALSE(ways.empty());
  for (const Exponents &way : ways) {
    CHECK(way.directions.row(3).isZero());
    CHECK(way.directions.row(0) == -way.directions.row(1));
    CHECK(way.twice_linear(3) == -2);
  }
}

TEST_CASE("directions that are no small whole numbers are not rounded") {
  IndexModel::Fit fit;
  fit.directions = Vector{{1.0, 0.4567, 0.3123}};
  fit.linear = Vector::Zero(3);
  CHECK(rounded(fit).empty());
}

TEST_CASE("a similarity is certain where y/m is a function of one monomial") {
  const Problem problem = posed(4, 1.0, [](auto v) {
    return v(1) * v(1) * std::tanh(v(2) / v(3)) / std::sqrt(v(4));
  });
  const Similarities similarities =
      find_similarities(problem, {1, 2, 3, 4}, {}, 0);
  REQUIRE_FALSE(similarities.found.empty());
  const Similarity &first = similarities.found[0];
  CHECK(first.is_certain());
  CHECK(first.n_variables() == 1);
  CHECK(first.exponents(1, 0) == -first.exponents(2, 0));
  CHECK(first.twice_outer(0) == 4);
  CHECK(first.twice_outer(3) == -1);
}

TEST_CASE("a difference may be a base, of either sign") {
  const Problem problem = posed(3, -3.0, [](auto v) {
    return std::exp(-0.3 * std::pow((v(1) - v(2)) / v(3), 2));
  });
  const Similarities similarities =
      find_similarities(problem, {1, 2, 3}, {}, 0);
  REQUIRE_FALSE(similarities.found.empty());
  const Similarity &first = similarities.found[0];
  CHECK(first.is_certain());
  CHECK(first.bases.size() == 2);
  CHECK(first.exponents(0, 0) == -first.exponents(1, 0));
}

TEST_CASE("noise has no similarity") {
  const Problem problem =
      posed(3, 1.0, [](auto v) { return std::sin(1e6 * v(1) * v(2) * v(3)); });
  CHECK(find_similarities(problem, {1, 2, 3}, {}, 1).found.empty());
}

TEST_CASE("what is substituted has the values of the whole") {
  const Dataset x{drawn(20, 3, 1.0, 2.0)};
  const composition::Tree u = product_of_powers(
      {feature(1), feature(2), feature(3)}, whole({2, -1, 0}), table());
  const composition::Tree outer =
      composition::apply(table(), table().find("exp"),
                         composition::combine(table(), ArgumentType::product,
                                              {composition::feature(1),
                                               composition::feature(-2)}));
  const Buffer found =
      values(product({substituted(outer, {u, feature(3)}, table())}), x);
  for (Index i = 0; i < 20; ++i) {
    const double a = x.features[0][i], b = x.features[1][i],
                 c = x.features[2][i];
    CHECK(found[static_cast<std::size_t>(i)] ==
          doctest::Approx(std::exp(a * a / b / c)));
  }
}

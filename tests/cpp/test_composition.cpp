#include <doctest/doctest.h>

#include "fixtures.hpp"

using namespace gsr;
using namespace gsr::testing;

TEST_CASE("a product written as a matrix has the values of its factors") {
  const Dataset data{drawn(37, 2, 0.5, 2.0)};
  const Basis basis = product({feature(2), scaled("exp", 1, -0.7)});
  const Buffer out = values(basis, data);
  for (Index i = 0; i < data.n_rows(); ++i)
    CHECK(out[static_cast<std::size_t>(i)] ==
          doctest::Approx(data.features[1][i] * std::exp(-0.7 * data.features[0][i])));
}

TEST_CASE("factors of a basis write the same basis again") {
  const Basis basis = product({feature(1), scaled("sin", 2, 3.5)});
  CHECK(product(composition::factors(basis)) == basis);
}

TEST_CASE("a function of one feature is recognised") {
  CHECK(composition::only_feature(scaled("ln", 3, 2.0)) == 3);
  const composition::Tree sum = composition::combine(
      table(), ArgumentType::sum, {composition::feature(1), composition::feature(2)});
  CHECK(composition::only_feature(sum) == 0);
}

TEST_CASE("a product of too many factors is refused") {
  const std::vector<composition::Tree> factors(kMaxRows + 1, scaled("sin", 1, 2.0));
  Basis basis;
  CHECK_FALSE(composition::write(factors, basis));
}

TEST_CASE("factors in another order are one basis") {
  const Basis a = product({scaled("sin", 1, 2.0), feature(2)});
  const Basis b = product({feature(2), scaled("sin", 1, 2.0)});
  CHECK(canonical(a, table(), kMaxVariables) == canonical(b, table(), kMaxVariables));
}

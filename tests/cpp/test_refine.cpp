#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/refine.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

Buffer law(const Dataset& data, double (*y)(double, double)) {
  Buffer out(static_cast<std::size_t>(data.features.stride()), 0.0);
  for (Index i = 0; i < data.n_rows(); ++i)
    out[static_cast<std::size_t>(i)] = y(data.features[0][i], data.features[1][i]);
  return out;
}

}  // namespace

TEST_CASE("variable projection moves constants of two terms to their values") {
  const Dataset data{drawn(100, 2, 0.0, 3.0)};
  const Buffer y = law(data, [](double a, double b) {
    return 2.0 * std::exp(-0.8 * a) - 1.5 * std::sin(2.3 * b) + 4.0;
  });
  std::vector<Basis> terms{product({scaled("exp", 1, -0.5)}), product({scaled("sin", 2, 2.0)})};
  Refiner refiner(data, table());
  CHECK(refiner.improve(y.data(), terms, 60) < 1e-12);
  CHECK(terms[0].weights[0] == doctest::Approx(-0.8));
  CHECK(terms[1].weights[0] == doctest::Approx(2.3));
}

TEST_CASE("free columns stand beside the terms") {
  const Dataset data{drawn(100, 2, 0.0, 3.0)};
  const Buffer y = law(data, [](double a, double b) { return 3.0 * b + std::exp(-0.8 * a); });
  std::vector<Basis> terms{product({scaled("exp", 1, -0.5)})};
  Refiner refiner(data, table());
  std::vector<Basis> alone = terms;
  CHECK(refiner.improve(y.data(), alone, 60) > 0.1);
  Columns free(data.n_rows(), 1);
  std::copy_n(data.features[1], data.n_rows(), free[0]);
  refiner.set_free(free);
  CHECK(refiner.improve(y.data(), terms, 60) < 1e-10);
  CHECK(terms[0].weights[0] == doctest::Approx(-0.8));
}

TEST_CASE("weights of rows decide where laws differ") {
  const Dataset data{drawn(200, 2, 0.0, 2.0)};
  // Two rates, of which the weights see one.
  const Buffer y =
      law(data, [](double a, double) { return std::exp(a < 1.0 ? -0.8 * a : 0.3 * a); });
  Buffer roots(static_cast<std::size_t>(data.features.stride()), 0.0);
  for (Index i = 0; i < data.n_rows(); ++i)
    roots[static_cast<std::size_t>(i)] = data.features[0][i] < 1.0 ? 1.0 : 0.0;
  std::vector<Basis> terms{product({scaled("exp", 1, -0.5)})};
  CHECK(Refiner(data, table(), roots).improve(y.data(), terms, 60) < 1e-10);
  CHECK(terms[0].weights[0] == doctest::Approx(-0.8));
}

TEST_CASE("the loss of a term is what the residual grows by without it") {
  const Dataset data{drawn(100, 2, 0.5, 3.0)};
  const Buffer y = law(data, [](double a, double b) { return a + 1e-3 * b * b; });
  const std::vector<Basis> terms{product({feature(1)}), product({feature(2), feature(2)})};
  Refiner refiner(data, table());
  refiner.linearise(y.data(), terms);
  const std::vector<double> losses = refiner.losses(2);
  CHECK(losses[1] < 0.01 * losses[0]);
  const double without = refiner.linearise(y.data(), {terms[0]});
  CHECK(losses[1] == doctest::Approx(without));
}

TEST_CASE("derivatives by constants are those of differences") {
  const Dataset data{drawn(40, 1, 0.2, 2.0)};
  Basis basis = product({scaled("tanh", 1, 1.3), feature(1)});
  Gradient gradient(data, table());
  REQUIRE(gradient.covers(basis));
  Columns exact;
  gradient.evaluate(basis, exact);
  const double step = 1e-6;
  Basis up = basis, down = basis;
  up.weights[0] += step;
  down.weights[0] -= step;
  const Buffer high = values(up, data), low = values(down, data);
  for (Index i = 0; i < data.n_rows(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    CHECK(exact[0][i] == doctest::Approx((high[k] - low[k]) / (2.0 * step)).epsilon(1e-6));
  }
}

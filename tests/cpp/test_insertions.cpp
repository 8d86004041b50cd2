#include <doctest/doctest.h>

#include <cmath>

#include "fixtures.hpp"
#include "guide/stages.hpp"

using namespace gsr;
using namespace gsr::guide;
using namespace gsr::testing;

namespace {

template <typename Law>
Problem problem_of(Law law) {
  Dataset x{drawn(150, 3, 0.5, 4.0)};
  Columns y(150, 1);
  for (Index i = 0; i < 150; ++i)
    y[0][i] = law(x.features[0][i], x.features[1][i], x.features[2][i]);
  Settings settings;
  settings.guided = settings.division = settings.differences = settings.one = true;
  settings.constants = true;
  settings.depth = 3;
  return Problem{std::move(x), Dataset{std::move(y)}, table(), table(), settings};
}

// The share of y's spread that is left by the best law after a scan around some terms.
double left_after(const Problem& problem, const std::vector<Basis>& terms) {
  Stages stages(problem, std::size_t{1} << 24, 1);
  Archive archive(problem.x.n_rows());
  stages.proposer.offer_to(archive);
  const Insertions insertions(stages.sample, stages.proposer);
  CHECK(insertions.scan(product({feature(1)}), terms) > 0.0);
  const Eigen::Map<const Vector> y(problem.y.features[0], problem.y.n_rows());
  const double spread = (y.array() - y.mean()).matrix().norm();
  return archive.best_rmse() * std::sqrt(static_cast<double>(y.size())) / spread;
}

composition::Tree sum(const std::vector<composition::Operand>& operands) {
  return composition::combine(table(), ArgumentType::sum, operands);
}

}  // namespace

TEST_CASE("a shift inside a logarithm is inserted") {
  const Problem problem =
      problem_of([](double a, double b, double c) { return b * std::log(a * c + 0.6) + 1.7 * a; });
  const composition::Tree logarithm = composition::apply(
      table(), table().find("ln"), composition::product(table(), {feature(1), feature(3)}));
  CHECK(left_after(problem, {product({feature(2), logarithm}), product({feature(1)})}) < 1e-9);
}

TEST_CASE("a real exponent of a sum is inserted") {
  const Problem problem = problem_of(
      [](double a, double b, double c) { return std::pow(a + b, 1.37) * c + 0.8 * a; });
  const composition::Tree both = sum({composition::feature(1), composition::feature(2)});
  CHECK(left_after(problem, {product({both, feature(3)}), product({feature(1)})}) < 1e-9);
}

TEST_CASE("several constants are inserted one after the other") {
  const Problem problem = problem_of([](double a, double b, double c) {
    return a * b / (0.43 + a + 1.9 * c) - 0.35 * b;
  });
  const composition::Tree both = sum({composition::feature(1), composition::feature(3)});
  CHECK(left_after(problem, {product({feature(1), feature(2), composition::reciprocal(both)}),
                             product({feature(2)})}) < 1e-9);
}

TEST_CASE("nothing is inserted where constants are not allowed") {
  Problem problem = problem_of([](double a, double, double) { return std::exp(-0.4 * a); });
  problem.settings.constants = false;
  Stages stages(problem, std::size_t{1} << 24, 1);
  Archive archive(problem.x.n_rows());
  stages.proposer.offer_to(archive);
  Insertions(stages.sample, stages.proposer)
      .scan(product({feature(1)}),
            {product({composition::apply(table(), table().find("exp"), feature(1))})});
  CHECK(archive.front().empty());
}

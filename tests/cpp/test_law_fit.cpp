#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/law.hpp"

using namespace gsr;
using namespace gsr::testing;

TEST_CASE("a size far above the median is lowered, whatever the units") {
  std::vector<double> sizes{1.0, 2.0, 3.0, 1e6, INFINITY};
  CHECK(bound_sizes(sizes, {}, 100.0));
  CHECK(sizes == std::vector<double>{1.0, 2.0, 3.0, 300.0, 300.0});
}

TEST_CASE("sizes that the weights of the rows make up for stay") {
  const std::vector<double> before{1e-4, 1.0, 1e4, 1e8};
  std::vector<double> sizes = before;
  CHECK(bound_sizes(sizes, {1e4, 1.0, 1e-4, 1e-8}, 100.0));
  CHECK(sizes == before);
}

TEST_CASE("weights alone are not lowered") {
  std::vector<double> sizes(5, 1.0);
  CHECK(bound_sizes(sizes, {1.0, 1.0, 1.0, 1.0, 1e6}, 100.0));
  CHECK(sizes == std::vector<double>(5, 1.0));
}

TEST_CASE("without a size above zero nothing changes") {
  std::vector<double> sizes(3, 0.0);
  CHECK_FALSE(bound_sizes(sizes, {}, 100.0));
}

#include <doctest/doctest.h>

#include <cmath>

#include "fixtures.hpp"
#include "guide/groups.hpp"

using namespace gsr;
using namespace gsr::guide;
using namespace gsr::testing;

namespace {

template <typename Law>
Buffer values(const Dataset& x, Law law) {
  Buffer out(static_cast<std::size_t>(x.features.stride()), 0.0);
  for (Index i = 0; i < x.n_rows(); ++i)
    out[static_cast<std::size_t>(i)] = law([&](int f) { return x.features[f - 1][i]; });
  return out;
}

}  // namespace

TEST_CASE("features that act together are told from those that do not") {
  const Dataset x{drawn(400, 7, 1.0, 3.0)};
  const Buffer y =
      values(x, [](auto v) { return v(1) * std::exp(-v(4)) + std::sqrt(v(2) + v(6)) * v(7); });
  const std::vector<Group> groups = find_groups(x, {1, 2, 3, 4, 5, 6, 7}, y);
  CHECK(groups == std::vector<Group>{{2, 6, 7}, {1, 4}});
}

TEST_CASE("functions of one feature each are groups of one") {
  const Dataset x{drawn(200, 3, 1.0, 3.0)};
  const Buffer y = values(x, [](auto v) { return std::log(v(1)) + v(3) * v(3); });
  CHECK(find_groups(x, {1, 2, 3}, y) == std::vector<Group>{{1}, {3}});
}

TEST_CASE("features of two values and constant ones are no obstacle") {
  Dataset x{drawn(300, 4, 1.0, 3.0)};
  for (Index i = 0; i < 300; ++i) {
    x.features[1][i] = x.features[1][i] > 2.0 ? 1.0 : 0.0;
    x.features[3][i] = 5.0;
  }
  const Buffer y = values(x, [](auto v) { return v(1) * v(2) + std::exp(v(3)); });
  CHECK(find_groups(x, {1, 2, 3, 4}, y) == std::vector<Group>{{1, 2}, {3}});
}

TEST_CASE("there are no groups where rows are too few") {
  const Dataset x{drawn(30, 7, 1.0, 3.0)};
  CHECK(find_groups(x, {1, 2, 3, 4, 5, 6, 7}, values(x, [](auto v) { return v(1); })).empty());
}

TEST_CASE("polynomials of a group hold all products up to the degree") {
  const Dataset x{drawn(20, 3, -1.0, 1.0)};
  std::vector<Buffer> columns;
  Polynomials(x).add_all({1, 3}, 3, columns);
  CHECK(columns.size() == 9);
}

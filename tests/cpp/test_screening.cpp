#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "fixtures.hpp"
#include "guide/screening.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

constexpr std::size_t kMost = 10;

// Around 0, so that a product shows in none of its factors alone.
Columns centred(Index n_rows, Index n_columns) { return drawn(n_rows, n_columns, -2.0, 2.0); }

template <typename Law>
Buffer target(const Columns& x, Law law) {
  Buffer y(static_cast<std::size_t>(x.stride()), 0.0);
  for (Index i = 0; i < x.n_rows(); ++i)
    y[static_cast<std::size_t>(i)] = law([&](Index c) { return x[c - 1][i]; });
  return y;
}

std::vector<int> screened(const Columns& x, const Buffer& y) {
  std::vector<int> all(static_cast<std::size_t>(x.n_columns()));
  std::iota(all.begin(), all.end(), 1);
  return guide::screen_features(x, y.data(), all, kMost);
}

// The features that were chosen first.
std::set<int> first(const std::vector<int>& features, Index n) {
  return {features.begin(), features.begin() + n};
}

}  // namespace

TEST_CASE("factors that show nothing alone are chosen") {
  const Columns x = centred(1000, 100);
  const Buffer y = target(x, [](auto c) { return c(7) * c(55) + std::sin(c(3)); });
  const std::vector<int> chosen = screened(x, y);
  CHECK(chosen.size() == kMost);
  CHECK(first(chosen, 3) == std::set<int>{3, 7, 55});
}

TEST_CASE("there is a place for each of ten features that matter") {
  const Columns x = centred(600, 20);
  const Buffer y = target(x, [](auto c) {
    return c(1) * c(2) + c(3) * c(4) + c(5) * c(6) + c(7) * c(8) + std::sin(c(9)) + c(10) * c(10);
  });
  CHECK(first(screened(x, y), 10) == std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("interactions of three features are seen") {
  const Columns x = centred(1000, 30);
  const Buffer y = target(x, [](auto c) { return c(4) * c(11) * c(29); });
  CHECK(first(screened(x, y), 3) == std::set<int>{4, 11, 29});
}

TEST_CASE("a small difference of two features that are alike is seen") {
  Columns x = centred(500, 15);
  for (Index i = 0; i < 500; ++i) x[1][i] = x[0][i] + 0.05 * x[1][i];
  const Buffer y = target(x, [](auto c) { return 20.0 * (c(2) - c(1)) + c(3); });
  CHECK(first(screened(x, y), 3) == std::set<int>{1, 2, 3});
}

TEST_CASE("a few rows far out do not hide the others") {
  Columns x = centred(500, 20);
  for (Index j = 0; j < 20; ++j) x[j][10 * j] = 1e200;
  Buffer y = target(x, [](auto c) { return std::min(c(1) * c(2), 100.0); });
  y[5] = -1e6;
  CHECK(first(screened(x, y), 2) == std::set<int>{1, 2});
}

TEST_CASE("a target that is explained whole, and few rows, are no trouble") {
  const Columns x = centred(500, 12);
  const Buffer line = target(x, [](auto c) { return 3.0 * c(5); });
  CHECK(screened(x, line).front() == 5);
  const Columns few = centred(5, 12);
  const std::vector<int> chosen = screened(few, target(few, [](auto c) { return c(1); }));
  CHECK(first(chosen, 10).size() == kMost);
}

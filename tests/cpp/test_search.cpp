#include <doctest/doctest.h>

#include <utility>

#include "fixtures.hpp"
#include "gsr/evolution.hpp"
#include "gsr/serialize.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

// y = x1 exp(-x2) + x1^2
Problem two_terms(int n_threads) {
  Dataset x{drawn(120, 2, 0.5, 3.0)};
  Columns y(120, 1);
  for (Index i = 0; i < 120; ++i) {
    const double a = x.features[0][i], b = x.features[1][i];
    y[0][i] = a * std::exp(-b) + a * a;
  }
  Settings settings;
  settings.guided = settings.division = settings.differences = settings.one = true;
  settings.constants = true;
  settings.depth = 3;
  settings.n_threads = n_threads;
  settings.max_evaluations = 600;
  return Problem{std::move(x), Dataset{std::move(y)}, table(), table(), settings};
}

// Runs to the end, and returns what was found.
const Archive& searched(Evolution& evolution) {
  while (evolution.run(60.0) == Evolution::Status::running) {
  }
  return std::as_const(evolution).archive();
}

std::vector<std::string> front(int n_threads) {
  Evolution evolution(two_terms(n_threads));
  std::vector<std::string> out;
  for (const Law& law : searched(evolution).front()) {
    Writer writer;
    writer.law(law);
    out.push_back(writer.bytes());
  }
  return out;
}

}  // namespace

TEST_CASE("a law of two terms is found exactly") {
  Evolution evolution(two_terms(1));
  const Law* law = searched(evolution).best_exact();
  REQUIRE(law != nullptr);
  CHECK(law->rmse < 1e-10);
}

TEST_CASE("laws do not depend on the number of threads") { CHECK(front(1) == front(3)); }

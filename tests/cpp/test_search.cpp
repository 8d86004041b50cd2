#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
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

// No law: the guide goes through its first stages.
Problem scattered(int n_threads) {
  Problem problem = two_terms(n_threads);
  const Columns noise = drawn(120, 1, -0.3, 0.3, 2);
  for (Index i = 0; i < 120; ++i) problem.y.features[0][i] += noise[0][i];
  problem.settings.max_evaluations = 1500;
  return problem;
}

// Runs to the end in slices of so many seconds, and returns what was found.
const Archive& searched(Evolution& evolution, double slice = 60.0) {
  while (evolution.run(slice) == Evolution::Status::running) {
  }
  return std::as_const(evolution).archive();
}

std::vector<std::string> laws(Problem problem, double slice = 60.0) {
  Evolution evolution(std::move(problem));
  const Archive& archive = searched(evolution, slice);
  std::vector<std::string> out;
  for (const std::vector<Law>* list : {&archive.front(), &archive.runners_up()})
    for (const Law& law : *list) {
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

TEST_CASE("laws do not depend on the number of threads") {
  CHECK(laws(two_terms(1)) == laws(two_terms(3)));
  CHECK(laws(scattered(1)) == laws(scattered(3)));
}

TEST_CASE("nor on how a run is cut into slices of time") {
  CHECK(laws(scattered(1)) == laws(scattered(2), 0.0));
}

TEST_CASE("an interrupted search with threads goes on, and ends") {
  Evolution evolution(scattered(3));
  std::atomic<bool> done{false};
  std::thread pest([&] {
    for (int k = 0; k < 10 && !done; ++k) {
      evolution.interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  searched(evolution);
  done = true;
  pest.join();
  CHECK(evolution.status() == Evolution::Status::max_evals);
}

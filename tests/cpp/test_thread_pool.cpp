#include <doctest/doctest.h>

#include <stdexcept>

#include "gsr/thread_pool.hpp"

using gsr::ThreadPool;

TEST_CASE("every iteration is done once, whatever the number of threads") {
  for (const int n_threads : {1, 2, 5}) {
    ThreadPool pool(n_threads);
    std::vector<int> done(200, 0);
    for (int round = 0; round < 20; ++round)
      pool.for_each(0, 200, [&](int, int i) { ++done[static_cast<std::size_t>(i)]; });
    for (const int times : done) CHECK(times == 20);
  }
}

TEST_CASE("an exception of a thread is thrown again, and the pool lives on") {
  ThreadPool pool(3);
  const auto fail = [](int, int i) {
    if (i == 17) throw std::runtime_error("seventeen");
  };
  CHECK_THROWS_AS(pool.for_each(0, 50, fail), std::runtime_error);
  int sum = 0;
  pool.for_each(3, 4, [&](int, int i) { sum += i; });
  CHECK(sum == 3);
}

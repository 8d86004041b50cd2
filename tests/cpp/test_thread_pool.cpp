#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>

#include "gsr/interrupt.hpp"
#include "gsr/thread_pool.hpp"

using gsr::Helpers;
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

TEST_CASE("a loop inside a shared loop stays on its thread") {
  ThreadPool pool(3);
  const Helpers helpers(&pool);
  std::vector<int> outer(40, -1), inner(40, 0);
  gsr::in_parallel(40, [&](int i) {
    outer[static_cast<std::size_t>(i)] = ThreadPool::worker();
    gsr::in_parallel(10, [&](int) {
      if (ThreadPool::worker() == outer[static_cast<std::size_t>(i)])
        ++inner[static_cast<std::size_t>(i)];
    });
  });
  for (const int times : inner) CHECK(times == 10);
  CHECK(ThreadPool::worker() == 0);
}

TEST_CASE("pieces cover a range once, with and without helpers") {
  ThreadPool pool(2);
  for (ThreadPool* with : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const Helpers helpers(with);
    std::vector<int> done(103, 0);
    gsr::in_pieces(103, 10, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
    });
    for (const int times : done) CHECK(times == 1);
  }
}

TEST_CASE("all threads watch the flag of the caller") {
  ThreadPool pool(3);
  const Helpers helpers(&pool);
  std::atomic<bool> flag{false};
  const gsr::Watch watch(flag);
  const auto wait = [&](int) {
    flag = true;
    while (true) gsr::stop_if_asked();
  };
  CHECK_THROWS_AS(gsr::in_parallel(20, wait), gsr::Interrupted);
  flag = false;
  gsr::in_parallel(20, [](int) { gsr::stop_if_asked(); });
}

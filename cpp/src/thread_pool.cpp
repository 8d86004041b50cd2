#include "gsr/thread_pool.hpp"

#include <utility>

#include "gsr/interrupt.hpp"

namespace gsr {

ThreadPool::ThreadPool(int n_threads) {
  for (int worker = 1; worker < n_threads; ++worker)
    workers_.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

int& ThreadPool::here() {
  thread_local int worker = 0;
  return worker;
}

void ThreadPool::for_each(int begin, int end, const std::function<void(int, int)>& body) {
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    watched_ = Watch::watched();
    next_ = begin;
    end_ = end;
    open_ = true;
    ++round_;
  }
  wake_.notify_all();
  drain(0);
  std::unique_lock lock(mutex_);
  open_ = false;  // whoever wakes up only now has missed it, and is not waited for
  done_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Loops inside are not shared again.
void ThreadPool::drain(int worker) {
  const Helpers none(nullptr);
  const int before = std::exchange(here(), worker);
  try {
    for (int i = next_++; i < end_; i = next_++) (*body_)(worker, i);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = end_;
  }
  here() = before;
}

void ThreadPool::work(int worker) {
  long seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      if (!open_) continue;
      ++busy_;
    }
    {
      const Watch watch(watched_);
      drain(worker);
    }
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

ThreadPool*& Helpers::here() {
  thread_local ThreadPool* pool = nullptr;
  return pool;
}

void in_parallel(int n, const std::function<void(int)>& body) {
  ThreadPool* pool = Helpers::here();
  if (pool == nullptr || pool->size() == 1 || n < 2) {
    for (int i = 0; i < n; ++i) body(i);
  } else {
    pool->for_each(0, n, [&](int, int i) { body(i); });
  }
}

}  // namespace gsr

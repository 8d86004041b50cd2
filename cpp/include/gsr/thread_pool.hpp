// A few threads that share the iterations of one loop at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gsr {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(worker, i) for i in [begin, end); the caller is worker 0. The first exception is
  // thrown again here.
  void for_each(int begin, int end, const std::function<void(int, int)>& body);

 private:
  void work(int worker);
  void drain(int worker);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int, int)>* body_ = nullptr;
  std::atomic<int> next_{0};
  int end_ = 0;
  int busy_ = 0;
  long round_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace gsr

// A few threads that share the iterations of one loop at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gsr {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(worker, i) for i in [begin, end), begun in this order; the caller is worker 0. All
  // threads watch the caller's flag (`Watch`). The first exception is thrown again here, after all
  // threads have stopped.
  void for_each(int begin, int end, const std::function<void(int, int)>& body);

  // The worker that the calling thread is in the loop that it works on; 0 outside of loops.
  static int worker() { return here(); }

  // While it lives, the calling thread is worker 0: for a search of one thread inside a loop.
  class OneThread {
   public:
    OneThread() : before_(std::exchange(here(), 0)) {}
    ~OneThread() { here() = before_; }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

   private:
    int before_;
  };

 private:
  static int& here();
  void work(int worker);
  void drain(int worker);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int, int)>* body_ = nullptr;
  const std::atomic<bool>* watched_ = nullptr;
  std::atomic<int> next_{0};
  int end_ = 0;
  int busy_ = 0;       // workers that have joined the loop
  bool open_ = false;  // workers may join it
  long round_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

// While it lives, `in_parallel` on this thread shares its loops with the pool.
class Helpers {
 public:
  explicit Helpers(ThreadPool* pool) : before_(here()) { here() = pool; }
  ~Helpers() { here() = before_; }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  static ThreadPool*& here();

 private:
  ThreadPool* before_;
};

// Calls body(i) for i in [0, n). A loop inside a shared one is the work of the thread that comes to
// it.
void in_parallel(int n, const std::function<void(int)>& body);

// Calls body(begin, end) for pieces of [0, n), each of `grain` but the last: they do not depend on
// the number of threads.
template <typename Number, typename Body>
void in_pieces(Number n, Number grain, const Body& body) {
  in_parallel(static_cast<int>((n + grain - 1) / grain), [&](int piece) {
    const Number begin = grain * static_cast<Number>(piece);
    body(begin, begin + grain < n ? begin + grain : n);
  });
}

}  // namespace gsr

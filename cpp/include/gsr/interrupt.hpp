// Ending a long computation early: whoever runs it watches a flag, loops inside ask now and then.
#pragma once

#include <atomic>
#include <exception>

namespace gsr {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// While it lives, `stop_if_asked` on this thread looks at the flag.
class Watch {
 public:
  explicit Watch(const std::atomic<bool>& flag) : Watch(&flag) {}
  // nullptr: none.
  explicit Watch(const std::atomic<bool>* flag) : before_(watched()) { watched() = flag; }
  ~Watch() { watched() = before_; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  static const std::atomic<bool>*& watched() {
    thread_local const std::atomic<bool>* flag = nullptr;
    return flag;
  }

 private:
  const std::atomic<bool>* before_;
};

// Throws Interrupted if the flag is set.
inline void stop_if_asked() {
  const std::atomic<bool>* flag = Watch::watched();
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace gsr

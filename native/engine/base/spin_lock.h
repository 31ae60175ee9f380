// A lock for critical sections that take well under a microsecond and call no other component.
// Without contention it costs one atomic exchange. Its only system call is a yield, when the lock
// stays taken.
#pragma once

#include <atomic>
#include <thread>

#include "platform/pause.h"

namespace tritonts {

// Works with std::lock_guard and std::unique_lock. Any thread may take it.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      for (int looks = 0; locked_.load(std::memory_order_relaxed); looks++) {
        if (looks < kLooks) {
          platform::Pause();
        } else {
          std::this_thread::yield();
        }
      }
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  static constexpr int kLooks = 64;

  std::atomic<bool> locked_{false};
};

}  // namespace tritonts

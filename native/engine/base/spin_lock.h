// A lock for stretches of well under a microsecond in which nothing is called out to: where nobody
// contends it, one atomic exchange, and no system call ever but to let another thread have the
// core.
#pragma once

#include <atomic>
#include <thread>

#include "platform/pause.h"

namespace tritonts {

// For std::lock_guard and std::unique_lock. Any thread.
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

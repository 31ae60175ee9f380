// Wakes an idle thread.
//
// A lock of the bell's user guards the condition that the thread waits for. A thread that changes
// the condition rings afterwards, without the lock. The waiting thread checks the condition under
// the lock before it sleeps, so no ring is lost. Ringing costs a system call only if the thread
// sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace tritonts {

class Bell {
 public:
  // Any thread may ring.
  void Ring() {
    rung_.store(true, std::memory_order_release);
    // If the thread fell asleep before the caller took the lock, `asleep_` is true here.
    if (asleep_.load(std::memory_order_relaxed)) condition_.notify_one();
  }

  // The functions below are for the waiting thread only. Forgets earlier rings. Called with the
  // lock.
  void Reset() { rung_.store(false, std::memory_order_relaxed); }
  // Whether the bell was rung since Reset. This is a hint, which may come late.
  const std::atomic<bool>& rung() const { return rung_; }
  // Sleeps until the bell is rung, or a spurious wake-up. Called with the lock, which is released
  // meanwhile.
  void Sleep(std::unique_lock<std::mutex>* lock) {
    asleep_.store(true, std::memory_order_relaxed);
    condition_.wait(*lock);
    asleep_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> rung_{false};
  std::atomic<bool> asleep_{false};  // written under the user's lock
  std::condition_variable condition_;
};

}  // namespace tritonts

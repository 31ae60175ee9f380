// Wakes a thread that has nothing to do.
//
// A lock of the bell's user guards what the thread waits for. Whoever changes that rings
// afterwards, without the lock. The thread looks under the lock before it sleeps, so no ring is
// lost. Ringing costs a system call only if the thread sleeps.
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
    // If the thread fell asleep before the caller had the lock, the caller sees that here.
    if (asleep_.load(std::memory_order_relaxed)) condition_.notify_one();
  }

  // The rest is for the waiting thread only. Forgets earlier rings; with the lock.
  void Reset() { rung_.store(false, std::memory_order_relaxed); }
  // Whether it was rung since Reset. This is a hint, which may come late.
  const std::atomic<bool>& rung() const { return rung_; }
  // Sleeps until it is rung, or wakes spuriously. Called with the lock, which is released
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

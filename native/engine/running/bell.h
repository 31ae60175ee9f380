// How a thread that has nothing to do is told that there is something.
//
// What it waits for is guarded by somebody's lock: who changes that rings afterwards, without the
// lock; the thread looks at it under the lock before it sleeps, so no ring is lost. To ring where
// nobody sleeps is no system call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace tritonts {

class Bell {
 public:
  // Any thread.
  void Ring() {
    rung_.store(true, std::memory_order_release);
    // Whoever rings had the lock after the thread fell asleep, so it sees that.
    if (asleep_.load(std::memory_order_relaxed)) condition_.notify_one();
  }

  // The waiting thread. With the lock: forgets that it was rung.
  void Reset() { rung_.store(false, std::memory_order_relaxed); }
  // Whether it was rung since; a hint, which may come late.
  const std::atomic<bool>& rung() const { return rung_; }
  // With the lock, which is free meanwhile: until it is rung, or for no reason.
  void Sleep(std::unique_lock<std::mutex>* lock) {
    asleep_.store(true, std::memory_order_relaxed);
    condition_.wait(*lock);
    asleep_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> rung_{false};
  std::atomic<bool> asleep_{false};  // written with the lock
  std::condition_variable condition_;
};

}  // namespace tritonts

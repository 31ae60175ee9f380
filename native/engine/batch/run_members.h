// The requests of a run, and which of them are open, get a response now, or are done.
//
//   open <--> delivering a response --> done
//     |                                  ^
//     +---- a final one, Reschedule -----+
//
// A run owns it. It has the run's lock, which also guards what the run's other objects say it does.
// The lock is held briefly: sinks, copiers and the version are called without it. The lock of the
// version's order is taken within it, never the other way round.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/base/spin_lock.h"
#include "engine/request/request_chain.h"

namespace tritonts {

class RunMembers {
 public:
  using Lock = std::unique_lock<SpinLock>;

  // `requests` are the run's, which Assign finds there.
  explicit RunMembers(const std::vector<Request*>& requests) : requests_(requests) {}

  SpinLock& lock() { return lock_; }

  // --- With the version's lock.
  // Makes room for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { phases_.reserve(requests); }
  // The requests run from now on: all are open.
  void Assign();
  // They are queued again, but for null rows, which go to nobody.
  void Disband(RequestChain* requests);

  // --- Any thread, without the lock. The requests stay the same until the run is idle.
  size_t size() const { return requests_.size(); }
  std::span<Request* const> requests() const { return requests_; }
  Request* operator[](size_t position) const { return requests_[position]; }
  // The positions that `request` names: one, or all for kAll.
  uint32_t First(uint32_t request) const { return request == Run::kAll ? 0 : request; }
  uint32_t Past(uint32_t request) const {
    return request == Run::kAll ? static_cast<uint32_t>(requests_.size()) : request + 1;
  }
  bool suspended() const { return suspended_.load(std::memory_order_acquire); }

  // --- With the lock.
  // While it is suspended, what is said of open requests is ignored.
  void Suspend() { suspended_.store(true, std::memory_order_release); }
  // True: it was suspended.
  bool Resume() { return suspended_.exchange(false, std::memory_order_acq_rel); }

  bool open(size_t position) const { return phases_[position] == Phase::kOpen; }
  // Also if there is no such request.
  bool done(size_t position) const {
    return position >= phases_.size() || phases_[position] == Phase::kDone;
  }
  size_t undone() const { return undone_; }
  size_t rescheduled() const { return rescheduled_; }

  // Waits until no other thread is delivering a response to the request (kAll: to any). The lock is
  // released meanwhile. False: the request is done, or does not exist.
  bool AwaitOpen(uint32_t request, Lock* lock);
  // Makes a request one that only this thread may respond to, and undoes that.
  void Seize(uint32_t position) {
    phases_[position] = Phase::kDelivering;
    delivering_++;
  }
  void Reopen(uint32_t position) {
    phases_[position] = Phase::kOpen;
    delivering_--;
  }
  // The request is done.
  void End(uint32_t position) { End(position, Request::State::kDone); }
  // The request is done here, and goes back to the queue.
  void Reschedule(uint32_t position) {
    End(position, Request::State::kQueued);
    rescheduled_++;
  }
  // All requests are done, and the caller has set their states.
  void EndAll();

 private:
  enum class Phase : uint8_t { kOpen, kDelivering, kDone };

  void End(uint32_t position, Request::State state);

  const std::vector<Request*>& requests_;
  SpinLock lock_;
  std::vector<Phase> phases_;  // by position; kept allocated
  size_t undone_ = 0;
  size_t delivering_ = 0;  // how many requests are being delivered
  size_t rescheduled_ = 0;
  std::atomic<bool> suspended_{false};
};

}  // namespace tritonts

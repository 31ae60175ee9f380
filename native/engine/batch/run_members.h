// The requests of a run, and which of them are open, are being delivered to, or are done.
//
//   open <--> delivering a response --> done
//     |                                  ^
//     +---- a final one, Reschedule -----+
//
// Owned by a run. It has the run's lock, which also guards other objects of the run where they say
// so. The lock is held briefly: sinks, copiers and the version are called without it. The lock of
// the version's order is taken inside this lock, never the other way round.
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

  // `requests` is the run's vector, which is filled before Assign.
  explicit RunMembers(const std::vector<Request*>& requests) : requests_(requests) {}

  SpinLock& lock() { return lock_; }

  // --- Under the version's lock.
  // Reserves space for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { phases_.reserve(requests); }
  // Starts the run: all its requests are running and open.
  void Assign();
  // Returns the requests to the queue. Null rows are dropped.
  void Disband(RequestChain* requests);

  // --- Thread-safe, without the run's lock. The requests stay the same until the run is idle.
  size_t size() const { return requests_.size(); }
  std::span<Request* const> requests() const { return requests_; }
  Request* operator[](size_t position) const { return requests_[position]; }
  // The range of positions that `request` names: one position, or all for kAll.
  uint32_t First(uint32_t request) const { return request == Run::kAll ? 0 : request; }
  uint32_t Past(uint32_t request) const {
    return request == Run::kAll ? static_cast<uint32_t>(requests_.size()) : request + 1;
  }
  bool suspended() const { return suspended_.load(std::memory_order_acquire); }

  // --- With the run's lock.
  // While the run is suspended, calls for open requests are ignored.
  void Suspend() { suspended_.store(true, std::memory_order_release); }
  // Ends the suspension. True: the run was suspended.
  bool Resume() { return suspended_.exchange(false, std::memory_order_acq_rel); }

  bool open(size_t position) const { return phases_[position] == Phase::kOpen; }
  // Also true if there is no such request.
  bool done(size_t position) const {
    return position >= phases_.size() || phases_[position] == Phase::kDone;
  }
  size_t undone() const { return undone_; }
  size_t rescheduled() const { return rescheduled_; }

  // Waits until no other thread is delivering a response to the request (kAll: to any). The lock is
  // released meanwhile. False: the request is done or does not exist, or the run is suspended.
  bool AwaitOpen(uint32_t request, Lock* lock);
  // Reserves a request for responses of this thread. Reopen undoes it.
  void Seize(uint32_t position) {
    phases_[position] = Phase::kDelivering;
    delivering_++;
  }
  void Reopen(uint32_t position) {
    phases_[position] = Phase::kOpen;
    delivering_--;
  }
  // Marks the request as done.
  void End(uint32_t position) { End(position, Request::State::kDone); }
  // Marks the request as done in this run, and queued.
  void Reschedule(uint32_t position) {
    End(position, Request::State::kQueued);
    rescheduled_++;
  }
  // Marks all requests as done. The caller has set their states.
  void EndAll();

 private:
  enum class Phase : uint8_t { kOpen, kDelivering, kDone };

  void End(uint32_t position, Request::State state);

  const std::vector<Request*>& requests_;
  SpinLock lock_;
  std::vector<Phase> phases_;  // by position; keeps its capacity
  size_t undone_ = 0;
  size_t delivering_ = 0;  // number of requests that are being delivered to
  size_t rescheduled_ = 0;
  std::atomic<bool> suspended_{false};
};

}  // namespace tritonts

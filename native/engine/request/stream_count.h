// Counts the responses to a request of a decoupled model that its caller has not read yet.
//
// The sink owns one for each such request. It lives as long as the request's header. The run counts
// sent responses, the sink counts read responses, and backends ask through the run (backend.h).
//
//   the run, before it delivers    sent --->  | unread |  ---> read    the sink
//                                             '--------'
//                                    a listener waits until few are left
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/base/spin_lock.h"

namespace tritonts {

// Waits for a caller to read.
class ReadListener {
 public:
  virtual ~ReadListener() = default;
  // The caller has read enough, or the request was cancelled. It is called at most once for each
  // time it was set, on any thread, mostly a JS thread, with no lock held. It must be short and
  // must not throw. It may still be called after the request has ended.
  virtual void OnRead() = 0;
};

// The unread responses of a request.
struct Unread {
  uint32_t responses = 0;
  uint64_t bytes = 0;  // of their outputs and parameters, and kResponseBytes for each
  // The next response would end the request with UNAVAILABLE, unless the caller reads one before.
  bool full = false;
};

// Any thread may call any function, but for Begin.
class StreamCount {
 public:
  // Beyond this many unread bytes a request gets no further response.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  // Bytes that a response counts besides its outputs and parameters: about the size of its result
  // in JavaScript.
  static constexpr uint64_t kResponseBytes = 512;

  // Starts the count for a request that no other thread knows yet. `in_flight` and `most` are the
  // server's bytes in flight and their limit; null: no limit.
  void Begin(const std::atomic<uint64_t>* in_flight, uint64_t most) {
    responses_.store(0, std::memory_order_relaxed);
    bytes_.store(0, std::memory_order_relaxed);
    lost_.store(false, std::memory_order_relaxed);
    permitted_.store(0, std::memory_order_relaxed);
    in_flight_ = in_flight;
    most_ = most;
  }

  // A caller who has read everything is always sent the next response, however large. So no caller
  // starves because others do not read.
  Unread unread() const {
    Unread unread;
    unread.responses = responses_.load();
    unread.bytes = bytes_.load(std::memory_order_relaxed);
    unread.full = unread.responses > 0 &&
                  (unread.bytes >= kMostBytes ||
                   (in_flight_ && in_flight_->load(std::memory_order_relaxed) > most_));
    return unread;
  }
  // Like unread(). Unless it is full, the next `next` responses are permitted. Then responses to
  // other requests that are sent in between cannot end this request.
  Unread Ask(uint32_t next) {
    const Unread unread = this->unread();
    if (!unread.full) permitted_.store(next, std::memory_order_relaxed);
    return unread;
  }
  // Whether the next response would exceed a limit, and so would end the request.
  bool ends_next() const {
    return permitted_.load(std::memory_order_relaxed) == 0 && unread().full;
  }
  // Only one thread at a time may call it.
  void NoteSent(uint64_t bytes) {
    const uint32_t permitted = permitted_.load(std::memory_order_relaxed);
    if (permitted > 0) permitted_.store(permitted - 1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    responses_.fetch_add(1);
  }
  void NoteRead(uint32_t responses, uint64_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    const uint32_t left = responses_.fetch_sub(responses) - responses;
    std::shared_ptr<ReadListener> listener;
    {
      std::lock_guard lock(lock_);
      if (listener_ && left <= at_most_) listener = std::move(listener_);
    }
    if (listener) listener->OnRead();
  }

  // Notes that the sink had no memory for a response that was not final. The next response must be
  // an error, so that the caller learns of the loss.
  void NoteLost() { lost_.store(true); }
  bool lost() const { return lost_.load(); }

  // Sets the listener, which is called when at most `at_most` responses are unread. It replaces an
  // earlier listener. False: the count is that low already, or the request is cancelled. Then the
  // listener was not set.
  bool Await(uint32_t at_most, std::shared_ptr<ReadListener> listener,
             const std::atomic<bool>& cancelled) {
    // After the swap, `listener` is the earlier one. It is destroyed after the lock is released.
    std::lock_guard lock(lock_);
    if (cancelled.load() || responses_.load() <= at_most) return false;
    at_most_ = at_most;
    listener_.swap(listener);
    return true;
  }
  // Tells the listener that the request was marked as cancelled.
  void Wake() {
    if (std::shared_ptr<ReadListener> listener = Take()) listener->OnRead();
  }
  // Forgets the listener, because the request has ended.
  void Forget() { Take(); }

 private:
  std::shared_ptr<ReadListener> Take() {
    std::lock_guard lock(lock_);
    return std::move(listener_);
  }

  std::atomic<uint32_t> responses_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> lost_{false};
  std::atomic<uint32_t> permitted_{0};  // responses that may be sent however much is unread
  const std::atomic<uint64_t>* in_flight_ = nullptr;
  uint64_t most_ = 0;
  SpinLock lock_;  // guards all below
  uint32_t at_most_ = 0;
  std::shared_ptr<ReadListener> listener_;
};

}  // namespace tritonts

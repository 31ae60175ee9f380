// The interface of schedulers, which decide which requests run together, on which instance, and
// when.
//
// A scheduler is a deterministic state machine: no clock, lock, thread or I/O inside; time is a
// parameter. Its owner (a version's Dispatcher) holds one lock around every call. On every change,
// and at `wake_at_ns` in any case, the owner calls Expire once. Then it calls Next for each free
// instance, repeatedly until a full pass yields no batch: a batch taken by one instance can unblock
// requests for another.
//
// Only Enqueue may throw std::bad_alloc. Next allocates memory only for overlays; without it, Next
// selects no batch and asks to be called again (`wake_at_ns`).
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/request.h"
#include "engine/request/request_chain.h"
#include "engine/scheduling/batch.h"
#include "engine/scheduling/sequence_counts.h"

namespace tritonts {

// Requests whose time in the queue is over. Reused between calls. Its owner has reserved room for
// all waiting requests.
struct Expired {
  std::vector<Request*> requests;  // removed from the queue
  // Also removed from the queue: another request of their sequence was cancelled.
  std::vector<Request*> cancelled;
  // Likewise: the state of their sequence could not be kept.
  std::vector<Request*> broken;
  uint64_t wake_at_ns = 0;  // call Expire again at this time, at the latest; 0: only on a change

  void Clear() {
    requests.clear();
    cancelled.clear();
    broken.clear();
    wake_at_ns = 0;
  }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Adds a request to the queue, or refuses it with the status for its caller. UNAVAILABLE: the
  // queue is full, and the caller may retry later. If it throws, the request was not added and
  // nothing has changed.
  virtual Status Enqueue(Request* request, uint64_t now_ns) = 0;
  // Adds requests as Enqueue does, in order, and returns how many were added. If a request is
  // refused, `refused` is its status, and later requests of the same header would be refused as
  // well. Does not throw.
  virtual size_t EnqueueSome(std::span<Request* const> requests, uint64_t now_ns, Status* refused) {
    for (size_t i = 0; i < requests.size(); i++) {
      try {
        *refused = Enqueue(requests[i], now_ns);
      } catch (const std::bad_alloc&) {
        *refused = Status::NoMemory();
      }
      if (!refused->ok()) return i;
    }
    return requests.size();
  }
  // Reports the requests that have waited too long, and when the next one will have. Also called
  // while all instances are busy.
  virtual void Expire(uint64_t now_ns, Expired* expired) = 0;
  // Selects a batch for instance `instance`, which is free. Takes only requests that are bound to
  // it or to none.
  virtual void Next(uint32_t instance, uint64_t now_ns, Batch* batch) = 0;
  // Instance `instance` is free again after a batch from Next.
  virtual void Finished(uint32_t instance, uint64_t now_ns) = 0;
  // The run of a batch with these sequences (Batch::sequences) has ended: its requests have ended
  // or were queued again, and nothing reads what the scheduler injected. Called for each such
  // batch, once, also if it had no run.
  virtual void Ended(Sequence* /*sequences*/, uint64_t /*now_ns*/) {}
  // Removes a request. False: it is not in the queue any more. Requests that cannot run without it
  // are reported by the next call of Expire.
  virtual bool Cancel(Request* request) = 0;
  // Removes all waiting requests, oldest first (those of a sequence, in their order).
  virtual void Drain(RequestChain* requests) = 0;
  // No more requests are enqueued, except those that are queued again.
  virtual void Close(uint64_t /*now_ns*/) {}
  // Instance `instance` takes batches from now on. Its number is the next one, or that of a removed
  // instance that holds nothing. Throws std::bad_alloc; then nothing has changed.
  virtual void AddInstance(uint32_t /*instance*/) {}
  // Nothing more is bound to instance `instance`. Its owner asks for batches for it until it holds
  // nothing.
  virtual void RemoveInstance(uint32_t /*instance*/) {}
  // Whether requests, or sequences without a request, are bound to the instance.
  virtual bool Holds(uint32_t /*instance*/) const { return false; }
  virtual size_t waiting() const = 0;
  // Whether requests may end together with others of their sequence, and Expire is to be called
  // even if no request waits. Constant.
  virtual bool timed() const { return false; }
  // Whether waiting requests may be bound to an instance. Constant.
  virtual bool binds() const { return false; }
  virtual SequenceCounts sequences() const { return {}; }
  virtual SequenceFate FateOf(const SequenceId& /*id*/) const { return SequenceFate::kUnknown; }
  // The maximum number of empty slots in a batch. Constant.
  virtual size_t slots() const { return 0; }
};

}  // namespace tritonts

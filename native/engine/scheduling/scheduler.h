// Decides which requests run together, where and when.
//
// A scheduler is a deterministic state machine: no clock, lock, thread or I/O inside; time is a
// parameter. Its owner (a version's Dispatcher) holds one lock around every call. When something
// changed, and at `wake_at_ns` whatever happened, it asks Expire once, and then Next for each
// instance that is free, until none of them gets anything: what one of them may not have, another
// one may, and what one takes lets others have what is behind it.
//
// Memory is asked for where a request comes in, and nowhere else: only Enqueue may throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/request.h"
#include "engine/request/request_chain.h"
#include "engine/scheduling/batch.h"

namespace tritonts {

// Requests whose time in the queue is over. Reused between calls; its owner has made room for all
// that wait.
struct Expired {
  std::vector<Request*> requests;  // out of the queue now
  uint64_t wake_at_ns = 0;         // ask again then, at the latest; 0: only when something changes

  void Clear() {
    requests.clear();
    wake_at_ns = 0;
  }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Takes a request into the queue, or refuses it with the status that its caller gets: UNAVAILABLE
  // where there is no room, and the same request is worth another try later. Where it throws, the
  // request was not taken, and nothing has changed.
  virtual Status Enqueue(Request* request, uint64_t now_ns) = 0;
  // Takes requests into the queue as Enqueue does, in order, and returns how many; the one after
  // these was refused, with the status that `refused` is set to, and those of its header behind it
  // would be as well. Does not throw.
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
  // What has been in the queue for too long, and when the next one will have been. Also while every
  // instance is busy.
  virtual void Expire(uint64_t now_ns, Expired* expired) = 0;
  // Instance `instance` is free: what shall it run? Only what is bound to it, or to none.
  virtual void Next(uint32_t instance, uint64_t now_ns, Batch* batch) = 0;
  // Instance `instance` is free of what Next gave it.
  virtual void Finished(uint32_t instance, uint64_t now_ns) = 0;
  // Takes a request out; false when it is not waiting here any more.
  virtual bool Cancel(Request* request) = 0;
  // Takes all waiting requests out, oldest first.
  virtual void Drain(RequestChain* requests) = 0;
  virtual size_t waiting() const = 0;
  // How many slots of a batch may be empty. It does not change.
  virtual size_t slots() const { return 0; }
};

}  // namespace tritonts

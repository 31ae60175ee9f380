// Decides which requests run together, where and when.
//
// A scheduler is a deterministic state machine: no clock, lock, thread or I/O inside; time is a
// parameter. Its owner (ModelVersion) holds one lock around every call, asks Next whenever an
// instance is free and something changed, and comes back at `wake_at_ns` whatever happens.
#pragma once

#include <cstdint>
#include <vector>

#include "request.h"
#include "status.h"

namespace tritonts {

// What Next decided. Reused between calls.
struct Decision {
  std::vector<Schedulable*> take;  // run these together, in this order; out of the queue now
  // Not 0: of the last of these only so many parts. The caller takes them from it before it asks
  // anything else; the others stay the first in the queue.
  uint32_t parts_of_last = 0;
  std::vector<Schedulable*> expire;  // their time in the queue is over; out of the queue now
  uint64_t wake_at_ns = 0;  // ask again then, at the latest; 0: only when something changes

  void Clear() {
    take.clear();
    parts_of_last = 0;
    expire.clear();
    wake_at_ns = 0;
  }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Takes a request into the queue, or refuses it with the status that its caller gets.
  virtual Status Enqueue(Schedulable* request, uint64_t now_ns) = 0;
  // Instance `instance` is free: what shall it run?
  virtual void Next(uint32_t instance, uint64_t now_ns, Decision* decision) = 0;
  // Instance `instance` finished what Next gave it.
  virtual void Finished(uint32_t instance, uint64_t now_ns) = 0;
  // Takes a request out; false when it is not waiting here any more.
  virtual bool Cancel(Schedulable* request) = 0;
  // Takes all waiting requests out, oldest first.
  virtual void Drain(std::vector<Schedulable*>* requests) = 0;
  virtual size_t waiting() const = 0;
};

}  // namespace tritonts

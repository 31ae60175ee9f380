// Selects the requests at the head of a queue that an instance runs together, or decides to wait
// for more.
//
// When an instance is free, walk the queue from its head. Stop at the first request that does not
// fit max_batch_size or has another shape key ("the batch is closed"). If the total has passed
// preferred sizes, cut the batch to the largest of them, unless the oldest request has waited for
// max_queue_delay; then take all that fit. If no preferred size is reached, nothing closed the
// batch, and the delay is not over, wait for an arrival or for the rest of the delay. A total
// beyond the largest preferred size does not wait. A delay of 0 never waits. Requests are never
// split and never overtake others of their shape. Requests that are bound to other instances are
// ignored.
//
// With `across_shapes`, a request of another shape does not close the batch. The walk passes over
// it and takes requests of the batch's shape from behind it. The head of the queue always leads a
// batch, so a request that was passed over leads the next one, and none starves. A request is never
// passed over by one of another level. A request in time is not passed over by a delayed one, nor
// the other way round. A request that is bound to an instance neither overtakes nor is overtaken. A
// batch passes over at most kMostPassed requests, so that a walk through a long queue stays cheap.
// A waiting batch starts when the delay of a request that it passed over is over. It also starts
// when the passed requests have as many rows as the smallest preferred size, because they could
// run.
//
// With a hook (batch_hook.h), the model decides whether a request that fits joins, and a request
// that it refuses closes the batch. Each walk asks about all its requests again.
//
// The rule only reads the queue; the owner of the queue removes the requests. Immutable and
// thread-safe, but for the calls of a hook.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/request/batch_hook.h"
#include "engine/request/request.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

struct DynamicPolicy {
  // Maximum rows of a batch; 0: every request runs alone (the default scheduler).
  uint32_t max_batch_size = 0;
  // Ascending, each in 1..max_batch_size; empty means {max_batch_size}.
  std::vector<uint32_t> preferred_batch_sizes;
  uint64_t max_queue_delay_ns = 0;
  bool across_shapes = false;
  BatchHook* hook = nullptr;  // not owned; null: the model has none
};

// The decision for an instance.
struct BatchChoice {
  Request* first = nullptr;
  size_t take = 0;          // how many requests to take; 0: none
  bool neighbours = true;   // whether they are adjacent in the queue; otherwise they are listed
  uint64_t wake_at_ns = 0;  // with none to take: call again at this time; 0: only on a change
  ClosedBy closed_by = ClosedBy::kNothingMore;
};

class BatchRule {
 public:
  // A batch passes over at most this many requests.
  static constexpr size_t kMostPassed = 1024;

  explicit BatchRule(DynamicPolicy policy);

  // `head` is the first request of the queue; null: the queue is empty. If the chosen requests are
  // not adjacent, they are the first entries of `list`. `list` must be empty before, with room for
  // all waiting requests.
  BatchChoice Choose(Request* head, uint32_t instance, uint64_t now_ns,
                     std::vector<Request*>* list) const;
  // Removes the chosen requests from their queue. `taken` is the list that was passed to Choose.
  template <typename Queue>
  static void Take(const BatchChoice& choice, Queue* queue, std::vector<Request*>* taken) {
    taken->resize(choice.take);
    if (choice.take == 0) return;
    if (choice.neighbours) {
      queue->TakeNeighbours(choice.first, choice.take, taken->data());
      return;
    }
    for (Request* one : *taken) queue->Remove(one);
  }

 private:
  // The requests, from the first one on, that a walk found to run together.
  struct Walk {
    size_t fits = 0;       // how many fit together
    size_t preferred = 0;  // how many reach the largest preferred size passed; 0: none
    bool closed = false;   // waiting cannot improve the batch
    ClosedBy closed_by = ClosedBy::kNothingMore;
    bool neighbours = true;                  // they are adjacent in the queue
    uint64_t oldest_ns = 0;                  // the earliest arrival among them
    size_t passed = 0;                       // how many requests of other shapes were passed over
    uint64_t passed_oldest_ns = UINT64_MAX;  // the earliest arrival among these

    Walk& Close(ClosedBy why) {
      closed = true;
      closed_by = why;
      return *this;
    }
  };
  Walk WalkQueue(Request* first, uint32_t instance, std::vector<Request*>* list) const;
  // Whether a request may overtake others in a batch that `first` leads, or be overtaken.
  static bool MayPass(const Request& first, const Request& request) {
    return first.bound == Request::kUnbound && request.bound == Request::kUnbound &&
           SamePart(first, request);
  }
  static bool SamePart(const Request& first, const Request& request) {
    return first.header->level == request.header->level && first.delayed == request.delayed;
  }
  bool DelayIsOver(uint64_t oldest_ns, uint64_t now_ns) const {
    const uint64_t delay = policy_.max_queue_delay_ns;
    return delay > 0 && now_ns > oldest_ns && now_ns - oldest_ns >= delay;
  }

  static bool Runs(const Request* request, uint32_t instance) {
    return request->bound == Request::kUnbound || request->bound == instance;
  }
  // `request`, or the first one after it that the instance may run.
  template <typename One>
  static One* ForInstance(One* request, uint32_t instance) {
    while (request && !Runs(request, instance)) request = request->next;
    return request;
  }

  DynamicPolicy policy_;
};

}  // namespace tritonts

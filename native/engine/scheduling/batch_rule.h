// Which of the requests at the head of a queue an instance runs together, and whether it waits for
// company first.
//
// When an instance is free, walk the queue from its head and stop at the first request that does
// not fit max_batch_size or whose shape key differs ("the batch is closed"). If the total passed
// preferred sizes, cut to the largest of them, unless the oldest of these requests has waited
// max_queue_delay already: then take all that fits. If no preferred size is reached, nothing closed
// the batch and the delay is not over, wait for an arrival or for the rest of the delay; a total
// beyond the largest preferred size has nothing left to wait for. A delay of 0 never waits.
// Requests are never split and never overtake others of their shape; those that are bound to other
// instances are not looked at.
//
// With `across_shapes` a request of another shape does not close the batch: the walk passes it
// over, and takes those of the batch's shape behind it. The head of the queue always leads, so what
// was passed over leads next, and nobody starves. Nobody is passed over by requests of another
// level, nor by those that are late where it is not, nor where either is bound to an instance. At
// most kMostPassed are passed over for a batch, so that a walk costs little however long the queue
// is. A batch that waits for company waits neither longer than the delay of those it passed over
// allows, nor once they have as many rows as the smallest preferred size: they could run.
//
// It only looks: taking requests out is for whose queue it is. A constant; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/request/request.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

struct DynamicPolicy {
  // Rows of a batch at most; 0: every request runs alone (the default scheduler).
  uint32_t max_batch_size = 0;
  // Ascending, each in 1..max_batch_size; empty means {max_batch_size}.
  std::vector<uint32_t> preferred_batch_sizes;
  uint64_t max_queue_delay_ns = 0;
  bool across_shapes = false;
};

// What an instance is to do.
struct BatchChoice {
  Request* first = nullptr;
  size_t take = 0;          // how many; 0: none
  bool neighbours = true;   // they are in the queue one after the other; else they are listed
  uint64_t wake_at_ns = 0;  // with none to take: ask again then; 0: only when something changes
  ClosedBy closed_by = ClosedBy::kNothingMore;
};

class BatchRule {
 public:
  // A batch passes over no more requests than these.
  static constexpr size_t kMostPassed = 1024;

  explicit BatchRule(DynamicPolicy policy);

  // For a queue that begins with `head`; null: it is empty. Where those it takes are no neighbours,
  // they are the first ones in `list`, which is empty before and has room for all that wait.
  BatchChoice Choose(Request* head, uint32_t instance, uint64_t now_ns,
                     std::vector<Request*>* list) const;
  // Takes what was chosen out of its queue. `taken` is the list that Choose was given.
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
  // How many requests a walk from the first one found to run together.
  struct Walk {
    size_t fits = 0;       // how many fit together
    size_t preferred = 0;  // how many up to the largest preferred size reached; 0: none
    bool closed = false;   // waiting cannot improve it
    ClosedBy closed_by = ClosedBy::kNothingMore;
    bool neighbours = true;                  // nobody is between them
    uint64_t oldest_ns = 0;                  // when the first of them arrived
    size_t passed = 0;                       // how many of other shapes were passed over
    uint64_t passed_oldest_ns = UINT64_MAX;  // when the first of these arrived

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

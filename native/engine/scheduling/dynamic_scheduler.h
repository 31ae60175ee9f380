// Triton's default scheduler and its dynamic batcher.
//
// One rule: when an instance is free, walk the queue from its head and stop at the first request
// that does not fit max_batch_size or whose shape key differs ("the batch is closed"). If the total
// passed preferred sizes, cut to the largest of them, unless the oldest request has waited
// max_queue_delay already: then take all that fits. If no preferred size is reached, nothing closed
// the batch and the delay is not over, wait for an arrival or for the rest of the delay; a total
// beyond the largest preferred size has nothing left to wait for. A delay of 0 never waits.
// Requests are never split and never overtake each other; those that are bound to other instances
// are not looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/request/request_queue.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

struct DynamicPolicy {
  // Rows of a batch at most; 0: every request runs alone (the default scheduler).
  uint32_t max_batch_size = 0;
  // Ascending, each in 1..max_batch_size; empty means {max_batch_size}.
  std::vector<uint32_t> preferred_batch_sizes;
  uint64_t max_queue_delay_ns = 0;
};

class DynamicScheduler final : public Scheduler {
 public:
  explicit DynamicScheduler(DynamicPolicy policy);

  Status Enqueue(Request* request, uint64_t now_ns) override;
  void Expire(uint64_t now_ns, Decision* decision) override;
  void Next(uint32_t instance, uint64_t now_ns, Decision* decision) override;
  void Finished(uint32_t instance, uint64_t now_ns) override;
  bool Cancel(Request* request) override;
  void Drain(RequestChain* requests) override;
  size_t waiting() const override { return queue_.size(); }

 private:
  // How many requests a walk from the first one found to run together.
  struct Walk {
    size_t fits = 0;         // so many fit together
    size_t preferred = 0;    // so many up to the largest preferred size reached; 0: none
    bool closed = false;     // waiting cannot improve it
    bool neighbours = true;  // none that is bound to another instance is between them
  };
  Walk WalkQueue(const Request* first, uint32_t instance) const;

  DynamicPolicy policy_;
  RequestQueue queue_;
};

}  // namespace tritonts

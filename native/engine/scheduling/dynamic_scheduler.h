// Triton's default scheduler and its dynamic batcher, for models without priority levels or queue
// policies: one FIFO queue, and the rule of batch_rule.h. Models with such a policy use
// policy_scheduler.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/request/request_queue.h"
#include "engine/scheduling/batch_rule.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

class DynamicScheduler final : public Scheduler {
 public:
  explicit DynamicScheduler(DynamicPolicy policy);

  Status Enqueue(Request* request, uint64_t now_ns) override;
  size_t EnqueueSome(std::span<Request* const> requests, uint64_t now_ns, Status* refused) override;
  void Expire(uint64_t now_ns, Expired* expired) override;
  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override;
  void Finished(uint32_t instance, uint64_t now_ns) override;
  bool Cancel(Request* request) override;
  void Drain(RequestChain* requests) override;
  size_t waiting() const override { return queue_.size(); }

 private:
  const BatchRule rule_;
  RequestQueue queue_;
};

}  // namespace tritonts

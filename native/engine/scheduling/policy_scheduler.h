// The dynamic batcher of a model with priority levels or queue policies: the rule of batch_rule.h
// over the queue of policy_queue.h. A batch may mix levels, highest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/scheduling/batch_rule.h"
#include "engine/scheduling/policy_queue.h"
#include "engine/scheduling/queue_policy.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

class PolicyScheduler final : public Scheduler {
 public:
  // `model`: the model's name, for the error of a full queue.
  PolicyScheduler(DynamicPolicy policy, std::shared_ptr<const QueuePolicies> queue,
                  std::string model);

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
  PolicyQueue queue_;
};

}  // namespace tritonts

#include "engine/scheduling/policy_scheduler.h"

#include <utility>

namespace tritonts {

PolicyScheduler::PolicyScheduler(DynamicPolicy policy, std::shared_ptr<const QueuePolicies> queue,
                                 std::string model)
    : rule_(std::move(policy)), queue_(std::move(queue), std::move(model)) {}

Status PolicyScheduler::Enqueue(Request* request, uint64_t /*now_ns*/) {
  Status refused;
  return queue_.Append({&request, 1}, &refused) == 1 ? Status::Ok() : refused;
}

size_t PolicyScheduler::EnqueueSome(std::span<Request* const> requests, uint64_t /*now_ns*/,
                                    Status* refused) {
  return queue_.Append(requests, refused);
}

void PolicyScheduler::Expire(uint64_t now_ns, Expired* expired) {
  queue_.Expire(now_ns, expired);
}

void PolicyScheduler::Next(uint32_t instance, uint64_t now_ns, Batch* batch) {
  const BatchChoice choice = rule_.Choose(queue_.front(), instance, now_ns, &batch->members);
  BatchRule::Take(choice, &queue_, &batch->members);
  batch->wake_at_ns = choice.wake_at_ns;
  batch->closed_by = choice.closed_by;
}

void PolicyScheduler::Finished(uint32_t /*instance*/, uint64_t /*now_ns*/) {}

bool PolicyScheduler::Cancel(Request* request) {
  if (!request->queued) return false;
  queue_.Remove(request);
  return true;
}

void PolicyScheduler::Drain(RequestChain* requests) {
  while (!queue_.empty()) {
    Request* request = queue_.front();
    queue_.Remove(request);
    requests->Append(request);
  }
}

}  // namespace tritonts

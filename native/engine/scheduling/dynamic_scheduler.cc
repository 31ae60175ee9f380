#include "engine/scheduling/dynamic_scheduler.h"

#include <utility>

namespace tritonts {

DynamicScheduler::DynamicScheduler(DynamicPolicy policy) : rule_(std::move(policy)) {}

Status DynamicScheduler::Enqueue(Request* request, uint64_t /*now_ns*/) {
  queue_.Append(request);
  return Status::Ok();
}

size_t DynamicScheduler::EnqueueSome(std::span<Request* const> requests, uint64_t /*now_ns*/,
                                     Status* /*refused*/) {
  for (Request* request : requests) queue_.Append(request);
  return requests.size();
}

void DynamicScheduler::Expire(uint64_t /*now_ns*/, Expired* /*expired*/) {}

void DynamicScheduler::Next(uint32_t instance, uint64_t now_ns, Batch* batch) {
  const BatchChoice choice = rule_.Choose(queue_.front(), instance, now_ns, &batch->members);
  BatchRule::Take(choice, &queue_, &batch->members);
  batch->wake_at_ns = choice.wake_at_ns;
  batch->closed_by = choice.closed_by;
}

void DynamicScheduler::Finished(uint32_t /*instance*/, uint64_t /*now_ns*/) {}

bool DynamicScheduler::Cancel(Request* request) {
  if (!request->queued) return false;
  queue_.Remove(request);
  return true;
}

void DynamicScheduler::Drain(RequestChain* requests) {
  while (!queue_.empty()) {
    Request* request = queue_.front();
    queue_.Remove(request);
    requests->Append(request);
  }
}

}  // namespace tritonts

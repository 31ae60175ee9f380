// What a run gives back early: inputs of its requests, or a request, which goes back to the queue.
#include <memory>
#include <mutex>

#include "engine/batch/response_order.h"
#include "engine/batch/run.h"

namespace tritonts {

void PooledRun::Release(uint32_t request) {
  const uint32_t first = request == kAll ? 0 : request;
  const size_t past = request == kAll ? requests_.size() : size_t{request} + 1;
  for (uint32_t i = first; i < past; i++) {
    {
      Lock lock(lock_);
      if (!AwaitOpen(i, &lock)) continue;
      repeatable_ = false;  // nobody may read them again
      Seize(i);
    }
    requests_[i]->ReleaseInputs();
    std::lock_guard lock(lock_);
    Reopen(i);
  }
}

void PooledRun::Reschedule(uint32_t request) {
  // Nobody's requests have no queue to go to.
  if (request < requests_.size() && requests_[request]->header->null_row) {
    return EndResponses(request);
  }
  {
    Lock lock(lock_);
    if (request == kAll || !AwaitOpen(request, &lock)) return;
    repeatable_ = false;
    End(request, Request::State::kQueued);
    rescheduled_++;
  }
  DropOutputs(request);
  const std::shared_ptr<ResponseOrder> order = context_->order;
  // Not before its sink has what the run said: in the queue it may end.
  if (!order || order->Skip(this, request)) Requeue(request);
  if (order) order->Go();
}

void PooledRun::Requeue(uint32_t position) {
  owner_->OnReschedule(requests_[position]);
  if (LetGo(1)) Done();
}

}  // namespace tritonts

#include "engine/scheduling/dynamic_scheduler.h"

#include <algorithm>

namespace tritonts {

namespace {

// `request`, or the first one after it that the instance may run.
template <typename One>
One* ForInstance(One* request, uint32_t instance) {
  while (request && request->bound != Request::kUnbound && request->bound != instance) {
    request = request->next;
  }
  return request;
}

}  // namespace

DynamicScheduler::DynamicScheduler(DynamicPolicy policy) : policy_(std::move(policy)) {
  // A delay of centuries must not carry the times it is added to over their end.
  policy_.max_queue_delay_ns = std::min(policy_.max_queue_delay_ns, UINT64_MAX / 4);
  std::sort(policy_.preferred_batch_sizes.begin(), policy_.preferred_batch_sizes.end());
  if (policy_.preferred_batch_sizes.empty() && policy_.max_batch_size > 0) {
    policy_.preferred_batch_sizes.push_back(policy_.max_batch_size);
  }
}

Status DynamicScheduler::Enqueue(Request* request, uint64_t /*now_ns*/) {
  queue_.Append(request);
  return Status::Ok();
}

DynamicScheduler::Walk DynamicScheduler::WalkQueue(const Request* first, uint32_t instance) const {
  Walk walk;
  const std::vector<uint32_t>& sizes = policy_.preferred_batch_sizes;
  size_t next_size = 0;  // the first that is not passed
  uint64_t total = 0;
  const RequestHeader* const wanted = first->header;
  const RequestHeader* header = wanted;
  const Request* behind = nullptr;  // the last one that fits
  for (const Request* request = first; request;
       request = ForInstance<const Request>(request->next, instance)) {
    walk.neighbours = walk.neighbours && (walk.fits == 0 || request == behind);
    behind = request->next;
    // Most share the header of the one before.
    if (request->header != header) {
      header = request->header;
      if (header->shape_key != wanted->shape_key) {
        walk.closed = true;
        return walk;
      }
    }
    // What is too big for a batch runs alone.
    if (total > 0 && header->batch_size > policy_.max_batch_size - total) {
      walk.closed = true;
      return walk;
    }
    total += header->batch_size;
    walk.fits++;
    while (next_size < sizes.size() && sizes[next_size] < total) next_size++;
    if (next_size < sizes.size() && sizes[next_size] == total) walk.preferred = walk.fits;
    if (total >= policy_.max_batch_size) {
      walk.closed = true;
      return walk;
    }
  }
  walk.closed = total >= policy_.preferred_batch_sizes.back();
  return walk;
}

void DynamicScheduler::Expire(uint64_t /*now_ns*/, Decision* /*decision*/) {}

void DynamicScheduler::Next(uint32_t instance, uint64_t now_ns, Decision* decision) {
  Request* next = ForInstance(queue_.front(), instance);
  if (!next) return;
  size_t take = 1;
  bool neighbours = true;
  if (policy_.max_batch_size > 0) {
    const uint64_t arrived = next->header->arrival_ns;
    const uint64_t waited = now_ns > arrived ? now_ns - arrived : 0;
    const bool delay_over = policy_.max_queue_delay_ns > 0 && waited >= policy_.max_queue_delay_ns;
    const Walk walk = WalkQueue(next, instance);
    neighbours = walk.neighbours;
    if (walk.preferred > 0 && !delay_over) {
      take = walk.preferred;
    } else if (walk.closed || delay_over || policy_.max_queue_delay_ns == 0) {
      take = walk.fits;
    } else {
      decision->wake_at_ns = arrived + policy_.max_queue_delay_ns;
      return;
    }
  }
  decision->take.resize(take);
  if (neighbours) {
    queue_.TakeNeighbours(next, take, decision->take.data());
    return;
  }
  for (Request*& taken : decision->take) {
    taken = next;
    next = ForInstance(next->next, instance);
    queue_.Remove(taken);
  }
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

#include "dynamic_scheduler.h"

#include <algorithm>

namespace tritonts {

DynamicScheduler::DynamicScheduler(DynamicPolicy policy) : policy_(std::move(policy)) {
  // A delay of centuries must not carry the times it is added to over their end.
  policy_.max_queue_delay_ns = std::min(policy_.max_queue_delay_ns, UINT64_MAX / 4);
  std::sort(policy_.preferred_batch_sizes.begin(), policy_.preferred_batch_sizes.end());
  if (policy_.preferred_batch_sizes.empty() && policy_.max_batch_size > 0) {
    policy_.preferred_batch_sizes.push_back(policy_.max_batch_size);
  }
}

Status DynamicScheduler::Enqueue(Schedulable* request, uint64_t /*now_ns*/) {
  queue_.Append(request);
  return Status::Ok();
}

DynamicScheduler::Walk DynamicScheduler::WalkQueue() const {
  Walk walk;
  const Schedulable* first = queue_.front();
  uint64_t total = 0;
  for (const Schedulable* request = first; request; request = request->next) {
    if (request != first && request->shape_key != first->shape_key) {
      walk.closed = true;
      return walk;
    }
    const uint64_t rows = request->batch_size / request->parts;
    // What is too big for a batch runs alone.
    const uint64_t room = std::max<uint64_t>((policy_.max_batch_size - total) / rows, total == 0);
    const uint64_t parts = std::min<uint64_t>(request->parts, room);
    for (const uint32_t size : policy_.preferred_batch_sizes) {
      if (size > total && size <= total + parts * rows && (size - total) % rows == 0) {
        walk.preferred = walk.fits + (size - total) / rows;
      }
    }
    total += parts * rows;
    walk.fits += parts;
    if (parts < request->parts || total >= policy_.max_batch_size) {
      walk.closed = true;
      return walk;
    }
  }
  walk.closed = total >= policy_.preferred_batch_sizes.back();
  return walk;
}

void DynamicScheduler::Next(uint32_t /*instance*/, uint64_t now_ns, Decision* decision) {
  if (queue_.empty()) return;
  size_t take = 1;
  if (policy_.max_batch_size > 0) {
    const uint64_t waited =
        now_ns > queue_.front()->arrival_ns ? now_ns - queue_.front()->arrival_ns : 0;
    const bool delay_over = policy_.max_queue_delay_ns > 0 && waited >= policy_.max_queue_delay_ns;
    const Walk walk = WalkQueue();
    if (walk.preferred > 0 && !delay_over) {
      take = walk.preferred;
    } else if (walk.closed || delay_over || policy_.max_queue_delay_ns == 0) {
      take = walk.fits;
    } else {
      decision->wake_at_ns = queue_.front()->arrival_ns + policy_.max_queue_delay_ns;
      return;
    }
  }
  while (take > 0) {
    Schedulable* request = queue_.front();
    decision->take.push_back(request);
    if (request->parts > take) {
      decision->parts_of_last = static_cast<uint32_t>(take);
      return;
    }
    take -= request->parts;
    queue_.Remove(request);
  }
}

void DynamicScheduler::Finished(uint32_t /*instance*/, uint64_t /*now_ns*/) {}

bool DynamicScheduler::Cancel(Schedulable* request) {
  if (!request->queued) return false;
  queue_.Remove(request);
  return true;
}

void DynamicScheduler::Drain(std::vector<Schedulable*>* requests) {
  while (!queue_.empty()) {
    Schedulable* request = queue_.front();
    queue_.Remove(request);
    requests->push_back(request);
  }
}

}  // namespace tritonts

// How a run keeps its failure back, so that its requests run again in halves (version/halves.cc).
#include <mutex>
#include <utility>

#include "engine/batch/run.h"

namespace tritonts {

namespace {

// Whether other requests of the batch may be the reason of an error. What is cancelled, and what
// there was no memory for, fails for a reason that the halves would have, too.
bool MayBeAnothers(const Status& status) {
  return !status.ok() && status.code() != Code::kCancelled && status.code() != Code::kUnavailable &&
         status.code() != Code::kUnsupported;
}

}  // namespace

bool PooledRun::KeepFailure(uint32_t request, const Status& status, bool final) {
  if (!std::exchange(repeatable_, false)) return false;
  if (request != kAll || !final || !MayBeAnothers(status)) return false;
  Stamp(&timings_);
  failure_ = status;
  failed_.store(true, std::memory_order_release);
  return true;
}

void PooledRun::ListOpen(std::vector<Request*>* requests) {
  std::lock_guard lock(lock_);
  for (size_t i = 0; i < requests_.size(); i++) {
    if (phases_[i] != Phase::kOpen) continue;
    if (!requests_[i]->cancelled.load(std::memory_order_relaxed)) requests->push_back(requests_[i]);
  }
}

uint64_t PooledRun::began_ns() {
  std::lock_guard lock(lock_);
  return timings_.exec_start_ns;
}

void PooledRun::GiveUp(std::span<Request* const> requests) {
  std::lock_guard lock(lock_);
  uint32_t position = 0;
  for (const Request* request : requests) {
    while (requests_[position] != request) position++;
    End(position, Request::State::kQueued);
    rescheduled_++;
  }
}

void PooledRun::LetGoOf(std::span<Request* const> requests) {
  uint32_t position = 0;
  for (const Request* request : requests) {
    if (!context_->order) break;
    while (requests_[position] != request) position++;
    context_->order->Skip(this, position);
  }
  // Never the last holds: the thread that was in Execute has one.
  LetGo(static_cast<uint32_t>(requests.size()));
}

}  // namespace tritonts

#include "engine/batch/rerun.h"

#include <mutex>
#include <utility>

namespace tritonts {

namespace {

// Whether an error may be caused by other requests of the batch. Cancellation, lack of memory and
// unsupported operations would fail the halves as well.
bool MayBeAnothers(const Status& status) {
  return !status.ok() && status.code() != Code::kCancelled && status.code() != Code::kUnavailable &&
         status.code() != Code::kUnsupported;
}

}  // namespace

bool Rerun::Withhold(uint32_t request, const Status& status, bool final) {
  if (!std::exchange(may_, false)) return false;
  if (request != Run::kAll || !final || !MayBeAnothers(status)) return false;
  BatchTimings timings;
  clock_->Stamp(&timings);
  failure_ = status;
  members_->Suspend();
  return true;
}

Status Rerun::Take() {
  may_ = false;
  return members_->Resume() ? std::exchange(failure_, Status()) : Status::Ok();
}

void Rerun::ListOpen(std::vector<Request*>* requests) {
  std::lock_guard lock(members_->lock());
  for (size_t i = 0; i < members_->size(); i++) {
    Request* const request = (*members_)[i];
    if (!members_->open(i) || request->cancelled.load(std::memory_order_relaxed)) continue;
    requests->push_back(request);
  }
}

void Rerun::Requeue(std::span<Request* const> requests) {
  std::lock_guard lock(members_->lock());
  uint32_t position = 0;
  for (const Request* request : requests) {
    while ((*members_)[position] != request) position++;
    members_->Reschedule(position);
  }
}

}  // namespace tritonts

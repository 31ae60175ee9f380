// How a run responds when there is no memory for a delivery.
#include <array>
#include <mutex>

#include "engine/batch/run.h"

namespace tritonts {

void PooledRun::RespondWithoutMemory(uint32_t request, const Status& status, bool final,
                                     Lock* lock) {
  if (context_->order) return RespondInOrderWithoutMemory(request, status, lock);
  // All requests may be done between two rounds of the loop, so this keeps the run.
  const RunRef self(*this);
  std::array<Response, kFew> few;
  std::array<uint32_t, kFew> open;  // requests that are not done after this response
  BatchTimings timings;
  uint32_t finals = 0;
  uint32_t next = request == kAll ? 0 : request;
  for (bool more = true; more;) {
    if (!lock->owns_lock()) lock->lock();
    if (!AwaitOpen(request, lock)) break;
    Stamp(&timings);
    timings_ = timings;
    size_t count = 0;
    size_t seized = 0;
    const size_t past = request == kAll ? requests_.size() : size_t{request} + 1;
    for (; next < past && count < kFew; next++) {
      if (phases_[next] != Phase::kOpen) continue;
      const bool cancelled = requests_[next]->cancelled.load(std::memory_order_relaxed);
      if (cancelled && !final) continue;
      Response& response = few[count++];
      response = {};
      response.request = requests_[next];
      response.timings = &timings;
      response.final = final;
      response.status = status.ok() ? context_->no_response : status;
      if (cancelled) response.status = context_->cancelled;
      NoteResponse(next, response, cancelled, timings);
      if (final) {
        End(next, Request::State::kDone);
        Count(response, cancelled, FirstOf(next));
        finals++;
      } else {
        Seize(next);
        open[seized++] = next;
      }
    }
    more = next < past;
    lock->unlock();
    DeliverAll(std::span(few).first(count));
    // The requests taken here keep the run from being done meanwhile.
    if (count > 0) DropOutputs(request);
    lock->lock();
    for (size_t i = 0; i < seized; i++) Reopen(open[i]);
  }
  if (lock->owns_lock()) lock->unlock();
  if (finals > 0 && LetGo(finals)) Done();
}

void PooledRun::DropOutputs(uint32_t request) {
  for (bool more = true; more;) {
    BlockRef block;  // dropped after the lock is released
    std::lock_guard lock(lock_);
    more = outputs_.DropOne(request, &block);
  }
}

}  // namespace tritonts

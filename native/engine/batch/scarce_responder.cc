#include "engine/batch/scarce_responder.h"

#include <array>
#include <span>

namespace tritonts {

void ScarceResponder::Respond(uint32_t request, const Status& status, bool final,
                              RunMembers::Lock* lock) {
  std::array<Response, kFew> few;
  std::array<uint32_t, kFew> open;  // requests that are not done after this response
  BatchTimings timings;
  uint32_t finals = 0;
  uint32_t next = members_->First(request);
  for (bool more = true; more;) {
    if (!lock->owns_lock()) lock->lock();
    if (!members_->AwaitOpen(request, lock)) break;
    clock_->Stamp(&timings);
    size_t count = 0;
    size_t seized = 0;
    const uint32_t past = members_->Past(request);
    for (; next < past && count < kFew; next++) {
      if (!members_->open(next)) continue;
      Request* const one = (*members_)[next];
      const bool cancelled = one->cancelled.load(std::memory_order_relaxed);
      if (cancelled && !final) continue;
      Response& response = few[count++];
      response = {};
      response.request = one;
      response.timings = &timings;
      response.final = final;
      response.status = status.ok() ? context_->no_response : status;
      if (cancelled) response.status = context_->cancelled;
      account_->NoteResponse(next, response, cancelled, timings);
      if (final) {
        members_->End(next);
        account_->NoteEnd(next, response, cancelled);
        finals++;
      } else {
        members_->Seize(next);
        open[seized++] = next;
      }
    }
    more = next < past;
    lock->unlock();
    DeliverAll(std::span(few).first(count));
    // The requests of this iteration keep the run from being done meanwhile.
    if (count > 0) places_->Drop(request);
    lock->lock();
    for (size_t i = 0; i < seized; i++) members_->Reopen(open[i]);
  }
  if (lock->owns_lock()) lock->unlock();
  if (finals > 0) life_->Drop(finals);
}

void ScarceResponder::Abandon(const Status& status) {
  std::array<Response, kFew> few;
  size_t count = 0;
  do {
    {
      RunMembers::Lock lock(members_->lock());
      members_->AwaitOpen(Run::kAll, &lock);
      BatchTimings timings;
      // If the run never began, it begins and ends now.
      if (clock_->last().exec_start_ns == 0) clock_->Begin(NowNs());
      clock_->Read(&timings);
      count = 0;
      for (uint32_t i = 0; i < members_->size() && count < few.size(); i++) {
        if (members_->done(i)) continue;
        members_->End(i);
        few[count] = {};
        few[count].request = (*members_)[i];
        few[count].status = status;
        few[count++].abandoned = true;
        account_->NoteResponse(i, few[count - 1], false, timings);
        account_->NoteAbandoned(i, timings);
      }
    }
    DeliverAll(std::span(few).first(count));
  } while (count == few.size());
}

}  // namespace tritonts

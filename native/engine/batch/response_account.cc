#include "engine/batch/response_account.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/statistics/response_counts.h"

namespace tritonts {

RunTotals::Failure ResponseAccount::FailureOf(const Status& status, bool cancelled) const {
  if (cancelled) return RunTotals::Failure::kCancelled;
  return status.SameAs(context_->no_response) || status.SameAs(context_->unread)
             ? RunTotals::Failure::kOther
             : RunTotals::Failure::kBackend;
}

void ResponseAccount::NoteEnd(uint32_t position, const Response& response, bool cancelled) {
  const uint64_t first_ns = streamed_.empty() ? 0 : streamed_[position].first_ns;
  if (response.status.ok()) {
    totals_.AddOk(*response.request->header, 1, *response.timings, first_ns);
  } else {
    totals_.AddFailed(*response.request->header, *response.timings,
                      FailureOf(response.status, cancelled), first_ns);
  }
}

void ResponseAccount::CountByNumber(uint32_t position, const Response& response, bool cancelled,
                                    const BatchTimings& timings) {
  if ((*members_)[position]->header->null_row) return;
  Streamed& streamed = streamed_[position];
  const uint64_t end = timings.exec_end_ns;
  const uint64_t ready = clock_->inputs_ready_ns();
  uint64_t start = streamed.last_ns;
  if (start == 0) start = ready != 0 ? ready : timings.exec_start_ns;
  start = std::min(start, end);
  auto kind = ResponseCounts::Kind::kSuccess;
  if (response.empty) kind = ResponseCounts::Kind::kEmpty;
  if (!response.status.ok()) kind = ResponseCounts::Kind::kFail;
  if (cancelled) kind = ResponseCounts::Kind::kCancel;
  // A mark before the start of this interval belongs to an earlier response.
  const uint64_t computed = clock_->computed_ns();
  const bool outputs =
      kind == ResponseCounts::Kind::kSuccess || kind == ResponseCounts::Kind::kFail;
  const uint64_t infer_end = outputs && computed > start && computed < end ? computed : end;
  if (context_->responses) {
    context_->responses->Add(streamed.responses, kind, infer_end - start, end - infer_end);
  }
  streamed.responses++;
  streamed.last_ns = end;
}

void ResponseAccount::AddTo(Statistics* statistics, Latencies* latencies) const {
  totals_.AddTo(statistics, clock_->last());
  statistics->last_inference_ms = WallMs();
  if (latencies) latencies->Add(totals_.parts, clock_->last().exec_end_ns);
}

void ResponseAccount::AddAnswered(Statistics* statistics) const {
  if (totals_.ended() == 0) return;
  totals_.AddTo(statistics, clock_->last());
  // The time of the last response rather than now, because time goes on after it.
  const uint64_t ended_ns = clock_->last().exec_end_ns;
  const uint64_t ago_ns = ended_ns == 0 ? 0 : NowNs() - ended_ns;
  statistics->last_inference_ms =
      std::max(statistics->last_inference_ms, WallMs() - ago_ns / 1'000'000);
}

}  // namespace tritonts

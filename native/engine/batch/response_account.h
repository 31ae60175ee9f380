// What the responses of a run add up to, until the run is added to its version's statistics.
//
// A run owns it. All is called with the run's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/batch/run_clock.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_members.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/run_totals.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

class ResponseAccount {
 public:
  ResponseAccount(const RunMembers* members, const RunClock* clock)
      : members_(members), clock_(clock) {}

  // Makes room for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests, const RunContext* context) {
    totals_.Reserve(requests);
    if (context->decoupled) streamed_.reserve(requests);
  }
  void Assign(const RunContext* context) {
    context_ = context;
    totals_.Clear();
    streamed_.assign(context->decoupled ? members_->size() : 0, Streamed());
  }
  // The requests are those of a batch that failed before.
  void SetRepeated() { totals_.reruns = 1; }

  // Notes when a request got its first response. It matters if others follow.
  void NoteFirst(uint32_t position, const BatchTimings& timings) {
    if (streamed_.empty() || streamed_[position].first_ns != 0) return;
    streamed_[position].first_ns = timings.exec_end_ns;
  }
  // A response was made. Those of a decoupled model are counted by their number.
  void NoteResponse(uint32_t position, const Response& response, bool cancelled,
                    const BatchTimings& timings) {
    if (!streamed_.empty()) CountByNumber(position, response, cancelled, timings);
  }
  // It was the final one.
  void NoteEnd(uint32_t position, const Response& response, bool cancelled);
  // The final responses of requests that share a header are ok.
  void NoteEnds(const RequestHeader& header, uint64_t requests, const BatchTimings& timings) {
    totals_.AddOk(header, requests, timings);
  }
  // A request fails without a response of the backend: the run is abandoned.
  void NoteAbandoned(uint32_t position, const BatchTimings& timings) {
    totals_.AddFailed(*(*members_)[position]->header, timings, RunTotals::Failure::kOther);
  }
  // A request ends with an error that its sink gets later.
  void NoteLost(uint32_t position, const Status& status, bool cancelled,
                const BatchTimings& timings) {
    totals_.AddFailed(*(*members_)[position]->header, timings, FailureOf(status, cancelled));
  }

  // Whether a request got a response that is ok.
  bool answered() const { return totals_.ok > 0; }
  const RunTotals& totals() const { return totals_; }
  // Adds a run that is done.
  void AddTo(Statistics* statistics, Latencies* latencies) const;
  // Adds the responses so far of a run that is not done.
  void AddAnswered(Statistics* statistics) const;
  void AddAnswered(const Latencies& latencies, LatencyCounts* counts) const {
    if (totals_.ended() > 0) latencies.AddTo(counts, totals_.parts);
  }

 private:
  // What a decoupled request was sent so far. Zero: no response yet.
  struct Streamed {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    uint32_t responses = 0;
  };

  RunTotals::Failure FailureOf(const Status& status, bool cancelled) const;
  void CountByNumber(uint32_t position, const Response& response, bool cancelled,
                     const BatchTimings& timings);

  const RunMembers* const members_;
  const RunClock* const clock_;
  const RunContext* context_ = nullptr;
  RunTotals totals_;
  std::vector<Streamed> streamed_;  // by position, of a decoupled model only
};

}  // namespace tritonts

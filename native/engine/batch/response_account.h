// The totals of a run's responses, until the run is added to its version's statistics.
//
// Owned by a run; guarded by the run's lock.
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

  // Reserves space for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests, const RunContext* context) {
    totals_.Reserve(requests);
    if (context->decoupled) streamed_.reserve(requests);
  }
  void Assign(const RunContext* context) {
    context_ = context;
    totals_.Clear();
    streamed_.assign(context->decoupled ? members_->size() : 0, Streamed());
  }
  // Marks the run as one of requests whose batch failed before.
  void SetRepeated() { totals_.reruns = 1; }

  // Records the time of a request's first response, which matters if others follow.
  void NoteFirst(uint32_t position, const BatchTimings& timings) {
    if (streamed_.empty() || streamed_[position].first_ns != 0) return;
    streamed_[position].first_ns = timings.exec_end_ns;
  }
  // Records a response. Responses of a decoupled model are counted by their index.
  void NoteResponse(uint32_t position, const Response& response, bool cancelled,
                    const BatchTimings& timings) {
    if (!streamed_.empty()) CountByNumber(position, response, cancelled, timings);
  }
  // Records the final response of a request.
  void NoteEnd(uint32_t position, const Response& response, bool cancelled);
  // Records ok final responses of requests that share a header.
  void NoteEnds(const RequestHeader& header, uint64_t requests, const BatchTimings& timings) {
    totals_.AddOk(header, requests, timings);
  }
  // Records the failure of a request without a response of the backend, because its run is
  // abandoned.
  void NoteAbandoned(uint32_t position, const BatchTimings& timings) {
    totals_.AddFailed(*(*members_)[position]->header, timings, RunTotals::Failure::kOther);
  }
  // Records an error whose delivery to the sink follows later.
  void NoteLost(uint32_t position, const Status& status, bool cancelled,
                const BatchTimings& timings) {
    totals_.AddFailed(*(*members_)[position]->header, timings, FailureOf(status, cancelled));
  }

  // Whether a request has had a response that is ok.
  bool answered() const { return totals_.ok > 0; }
  const RunTotals& totals() const { return totals_; }
  // Adds a run that is done to the statistics.
  void AddTo(Statistics* statistics, Latencies* latencies) const;
  // Adds the responses so far of a run that is not done.
  void AddAnswered(Statistics* statistics) const;
  void AddAnswered(const Latencies& latencies, LatencyCounts* counts) const {
    if (totals_.ended() > 0) latencies.AddTo(counts, totals_.parts);
  }

 private:
  // The responses so far to a request of a decoupled model. Zero: no response yet.
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
  std::vector<Streamed> streamed_;  // by position; only for decoupled models
};

}  // namespace tritonts

// How long a version's requests took, beyond the sums of its statistics: histograms and quantiles.
// Added up once for each batch; nothing is allocated for it.
//
// The version's lock, but for the window (latency_window.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/running/latency_histogram.h"
#include "engine/running/latency_phase.h"
#include "engine/running/latency_window.h"
#include "engine/running/run_totals.h"

namespace tritonts {

// What is kept, from the server's and the model's configuration.
struct LatencyPolicy {
  bool histograms = false;   // of each phase
  uint32_t window_bits = 0;  // precision of quantiles; 0: there are none
  bool first_responses = false;
  std::vector<double> first_response_ms = {};  // bounds of that histogram, ascending
};

// What is counted from the load on, as a copy that may be handed out.
struct LatencyCounts {
  std::array<LatencyHistogram, kLatencyPhases> phases;
  std::vector<uint64_t> first_responses;  // by bound, and what is above the last
  uint64_t first_response_ms = 0;         // all of them together
};

class Latencies {
 public:
  // Throws std::bad_alloc.
  explicit Latencies(LatencyPolicy policy) : policy_(std::move(policy)) {
    if (policy_.first_responses) {
      counts_.first_responses.resize(policy_.first_response_ms.size() + 1);
    }
    if (policy_.window_bits > 0) window_ = std::make_unique<LatencyWindow>(policy_.window_bits);
  }

  const LatencyPolicy& policy() const { return policy_; }
  const LatencyCounts& counts() const { return counts_; }
  // Null: it is not kept.
  const LatencyWindow* window() const { return window_.get(); }

  // Adds a run that is done.
  void Add(const RunTotals& totals, const BatchTimings& timings) {
    AddTo(&counts_, totals, timings);
    if (!window_ || totals.ok == 0) return;
    window_->Advance(timings.exec_end_ns);
    ForEach(totals, timings, [this](LatencyPhase phase, uint64_t ns, uint64_t count) {
      window_->Add(phase, ns, count);
    });
  }

  // Adds to a copy what a run under way has answered.
  void AddTo(LatencyCounts* counts, const RunTotals& totals, const BatchTimings& timings) const {
    if (policy_.first_responses) {
      for (const RunTotals::Part& part : totals.parts) {
        // Whole milliseconds, as Triton.
        const uint64_t ms = part.first_ns / 1'000'000;
        size_t index = 0;
        while (index < policy_.first_response_ms.size() &&
               policy_.first_response_ms[index] < static_cast<double>(ms)) {
          index++;
        }
        counts->first_responses[index] += part.count;
        counts->first_response_ms += ms * part.count;
      }
    }
    if (!policy_.histograms || totals.ok == 0) return;
    ForEach(totals, timings, [counts](LatencyPhase phase, uint64_t ns, uint64_t count) {
      counts->phases[static_cast<size_t>(phase)].Add(ns, count);
    });
  }

 private:
  // Calls `add` with each phase's time and how many requests had it: of the phases of a run, all.
  template <typename Add>
  static void ForEach(const RunTotals& totals, const BatchTimings& timings, Add add) {
    for (const RunTotals::Part& part : totals.parts) {
      if (!part.ok) continue;
      add(LatencyPhase::kRequest, part.request_ns, part.count);
      add(LatencyPhase::kQueue, part.queue_ns, part.count);
    }
    add(LatencyPhase::kComputeInput, timings.compute_start_ns - timings.exec_start_ns, totals.ok);
    add(LatencyPhase::kComputeInfer, timings.compute_end_ns - timings.compute_start_ns, totals.ok);
    add(LatencyPhase::kComputeOutput, timings.exec_end_ns - timings.compute_end_ns, totals.ok);
  }

  const LatencyPolicy policy_;
  LatencyCounts counts_;
  std::unique_ptr<LatencyWindow> window_;
};

}  // namespace tritonts

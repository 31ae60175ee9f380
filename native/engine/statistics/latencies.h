// Histograms and quantiles of the request times of a version or an ensemble. They are updated once
// for each batch, without allocating.
//
// Guarded by the version's lock, except the window (latency_window.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/statistics/latency_histogram.h"
#include "engine/statistics/latency_phase.h"
#include "engine/statistics/latency_window.h"
#include "engine/statistics/run_totals.h"

namespace tritonts {

// Which latencies are kept, from the server's and the model's configuration.
struct LatencyPolicy {
  bool histograms = false;   // of each phase
  uint32_t window_bits = 0;  // precision of the quantiles; 0: no quantiles
  bool first_responses = false;
  std::vector<double> first_response_ms = {};  // bounds of that histogram, ascending
};

// The counts since the model was loaded. A value type, which may be copied.
struct LatencyCounts {
  std::array<LatencyHistogram, kLatencyPhases> phases;
  std::vector<uint64_t> first_responses;  // by bound, then one more for times above the last bound
  uint64_t first_response_ms = 0;         // their sum
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
  // Null: no window is kept.
  const LatencyWindow* window() const { return window_.get(); }

  // Adds requests that have ended, at `now_ns`.
  void Add(std::span<const RunTotals::Part> parts, uint64_t now_ns) {
    AddTo(&counts_, parts);
    if (!window_) return;
    window_->Advance(now_ns);
    ForEach(parts, [this](LatencyPhase phase, uint64_t ns, uint64_t count) {
      window_->Add(phase, ns, count);
    });
  }

  // Adds requests that a run under way has answered to `counts`, which is a copy, or this object's
  // own.
  void AddTo(LatencyCounts* counts, std::span<const RunTotals::Part> parts) const {
    if (policy_.first_responses) {
      for (const RunTotals::Part& part : parts) {
        // Whole milliseconds, as in Triton.
        const uint64_t ms = part.times.first_ns / 1'000'000;
        size_t index = 0;
        while (index < policy_.first_response_ms.size() &&
               policy_.first_response_ms[index] < static_cast<double>(ms)) {
          index++;
        }
        counts->first_responses[index] += part.count;
        counts->first_response_ms += ms * part.count;
      }
    }
    if (!policy_.histograms) return;
    ForEach(parts, [counts](LatencyPhase phase, uint64_t ns, uint64_t count) {
      counts->phases[static_cast<size_t>(phase)].Add(ns, count);
    });
  }

 private:
  // Calls `add` with a phase, a time, and the number of requests that took it.
  template <typename Add>
  static void ForEach(std::span<const RunTotals::Part> parts, Add add) {
    // Requests that were answered together have equal compute times, although they arrived apart.
    const RunTotals::Times* ran = nullptr;
    uint64_t count = 0;
    const auto add_ran = [&] {
      if (count == 0) return;
      add(LatencyPhase::kComputeInput, ran->input_ns, count);
      add(LatencyPhase::kComputeInfer, ran->infer_ns, count);
      add(LatencyPhase::kComputeOutput, ran->output_ns, count);
    };
    for (const RunTotals::Part& part : parts) {
      if (!part.ok) continue;
      const RunTotals::Times& times = part.times;
      add(LatencyPhase::kRequest, times.request_ns, part.count);
      add(LatencyPhase::kQueue, times.queue_ns, part.count);
      if (count > 0 && (ran->input_ns != times.input_ns || ran->infer_ns != times.infer_ns ||
                        ran->output_ns != times.output_ns)) {
        add_ran();
        count = 0;
      }
      ran = &times;
      count += part.count;
    }
    add_ran();
  }

  const LatencyPolicy policy_;
  LatencyCounts counts_;
  std::unique_ptr<LatencyWindow> window_;
};

}  // namespace tritonts

// What the instances of a version on one GPU did. The metrics show it apart, as Triton's do.
//
// The version's lock guards it, but for the window of the latencies (latency_window.h).
#pragma once

#include <utility>

#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

struct GpuTotals {
  // Throws std::bad_alloc.
  GpuTotals(int id, LatencyPolicy policy) : device(id), latencies(std::move(policy)) {}

  const int device;
  Statistics statistics;
  Latencies latencies;
};

}  // namespace tritonts

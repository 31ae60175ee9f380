// The statistics of a version's instances on one GPU. The metrics show each GPU apart, as Triton's
// do.
//
// Guarded by the version's lock, except the window of the latencies (latency_window.h).
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

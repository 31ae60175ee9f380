// What the responses of a run add up to, until the run is accounted for. The run's lock.
#pragma once

#include <cstdint>
#include <new>

#include "engine/base/clock.h"
#include "engine/request/response_sink.h"
#include "engine/running/statistics.h"

namespace tritonts {

struct RunTotals {
  uint64_t ok = 0;
  uint64_t ok_rows = 0;
  uint64_t ok_ns = 0;
  uint64_t queue_ns = 0;
  uint64_t failed = 0;
  uint64_t failed_ns = 0;
  uint64_t cancelled = 0;

  uint64_t ended() const { return ok + failed; }

  void AddOk(const Request& request, const BatchTimings& timings) {
    ok++;
    ok_rows += request.header->batch_size;
    ok_ns += timings.exec_end_ns - request.header->arrival_ns;
    queue_ns += timings.exec_start_ns - request.header->arrival_ns;
  }
  void AddFailed(const Request& request, const BatchTimings& timings, bool was_cancelled) {
    failed++;
    failed_ns += timings.exec_end_ns - request.header->arrival_ns;
    if (was_cancelled) cancelled++;
  }

  void AddTo(Statistics* statistics, const BatchTimings& timings) const {
    const uint64_t input = timings.compute_start_ns - timings.exec_start_ns;
    const uint64_t infer = timings.compute_end_ns - timings.compute_start_ns;
    const uint64_t output = timings.exec_end_ns - timings.compute_end_ns;
    statistics->last_inference_ms = WallMs();
    statistics->execution_count++;
    statistics->inference_count += ok_rows;
    statistics->success.Add(ok, ok_ns);
    statistics->fail.Add(failed, failed_ns);
    statistics->cancelled += cancelled;
    statistics->queue.Add(ok, queue_ns);
    statistics->compute_input.Add(ok, ok * input);
    statistics->compute_infer.Add(ok, ok * infer);
    statistics->compute_output.Add(ok, ok * output);
    if (ok == 0) return;
    try {
      BatchStatistics& batch = statistics->batches[timings.batch_size];
      batch.compute_input.Add(1, input);
      batch.compute_infer.Add(1, infer);
      batch.compute_output.Add(1, output);
    } catch (const std::bad_alloc&) {
      // No memory for batches of a size that is new: they are counted from the next one on.
    }
  }
};

}  // namespace tritonts

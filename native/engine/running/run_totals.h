// The sums over a run's responses, until the run is added to the statistics. Guarded by the run's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "engine/base/clock.h"
#include "engine/request/response_sink.h"
#include "engine/running/statistics.h"

namespace tritonts {

struct RunTotals {
  // Requests that arrived together and ended together: mostly all of a tick, or of the batch.
  struct Part {
    uint64_t queue_ns = 0;
    uint64_t request_ns = 0;
    uint64_t first_ns = 0;  // until the first response
    uint64_t count = 0;
    bool ok = false;
  };
  enum class Failure : uint8_t { kBackend, kCancelled, kOther };

  uint64_t ok = 0;
  uint64_t ok_rows = 0;
  uint64_t ok_ns = 0;
  uint64_t queue_ns = 0;
  uint64_t failed = 0;
  uint64_t failed_ns = 0;
  uint64_t cancelled = 0;       // of `failed`
  uint64_t backend_failed = 0;  // likewise
  uint64_t reruns = 0;          // 1: the run is half of a batch that failed
  std::vector<Part> parts;      // kept allocated

  uint64_t ended() const { return ok + failed; }

  // Begins anew, with room for a batch of so many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { parts.reserve(requests); }
  void Clear() {
    parts.clear();
    ok = ok_rows = ok_ns = queue_ns = failed = failed_ns = cancelled = backend_failed = reruns = 0;
  }

  // `first_ns`: when the first response was made; 0: that was the final one.
  void AddOk(const RequestHeader& header, uint64_t count, const BatchTimings& timings,
             uint64_t first_ns = 0) {
    const uint64_t request = timings.exec_end_ns - header.arrival_ns;
    const uint64_t waited = timings.exec_start_ns - header.arrival_ns;
    ok += count;
    ok_rows += count * header.batch_size;
    ok_ns += count * request;
    queue_ns += count * waited;
    AddPart(waited, request, FirstNs(header, timings, first_ns), count, true);
  }
  void AddFailed(const RequestHeader& header, const BatchTimings& timings, Failure failure,
                 uint64_t first_ns = 0) {
    const uint64_t request = timings.exec_end_ns - header.arrival_ns;
    failed++;
    failed_ns += request;
    if (failure == Failure::kCancelled) cancelled++;
    if (failure == Failure::kBackend) backend_failed++;
    AddPart(timings.exec_start_ns - header.arrival_ns, request, FirstNs(header, timings, first_ns),
            1, false);
  }

  void AddTo(Statistics* statistics, const BatchTimings& timings) const {
    const uint64_t input = timings.compute_start_ns - timings.exec_start_ns;
    const uint64_t infer = timings.compute_end_ns - timings.compute_start_ns;
    const uint64_t output = timings.exec_end_ns - timings.compute_end_ns;
    statistics->last_inference_ms = WallMs();
    statistics->execution_count++;
    statistics->reruns += reruns;
    statistics->inference_count += ok_rows;
    statistics->success.Add(ok, ok_ns);
    statistics->fail.Add(failed, failed_ns);
    statistics->cancelled += cancelled;
    statistics->backend_failed += backend_failed;
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
      // There was no memory for a batch size that is new. It is counted from the next batch on.
    }
  }

 private:
  static uint64_t FirstNs(const RequestHeader& header, const BatchTimings& timings,
                          uint64_t first_ns) {
    return (first_ns != 0 ? first_ns : timings.exec_end_ns) - header.arrival_ns;
  }

  void AddPart(uint64_t waited, uint64_t request, uint64_t first, uint64_t count, bool went_well) {
    if (!parts.empty()) {
      Part& last = parts.back();
      if (last.queue_ns == waited && last.request_ns == request && last.first_ns == first &&
          last.ok == went_well) {
        last.count += count;
        return;
      }
    }
    // There is room: a request ends once.
    parts.push_back({waited, request, first, count, went_well});
  }
};

}  // namespace tritonts

// The sums over a run's responses, kept until the run is added to the statistics. Guarded by the
// run's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "engine/request/response_sink.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

struct RunTotals {
  // How long a request took, by phase.
  struct Times {
    uint64_t request_ns = 0;
    uint64_t queue_ns = 0;
    uint64_t input_ns = 0;
    uint64_t infer_ns = 0;
    uint64_t output_ns = 0;
    uint64_t first_ns = 0;  // until the first response

    bool operator==(const Times&) const = default;
  };
  // Requests with equal times. They are mostly all requests of a tick, or of the batch.
  struct Part {
    Times times;
    uint64_t count = 0;
    bool ok = false;
  };
  enum class Failure : uint8_t { kBackend, kCancelled, kOther };

  uint64_t ok = 0;
  uint64_t ok_rows = 0;
  uint64_t ok_ns = 0;
  uint64_t queue_ns = 0;
  // Sums over the requests. Their times differ if the batch is not answered at once.
  uint64_t input_ns = 0;
  uint64_t infer_ns = 0;
  uint64_t output_ns = 0;
  uint64_t failed = 0;
  uint64_t failed_ns = 0;
  uint64_t cancelled = 0;       // part of `failed`
  uint64_t backend_failed = 0;  // likewise
  uint64_t reruns = 0;          // 1: the run is half of a batch that failed
  std::vector<Part> parts;      // keeps its capacity

  uint64_t ended() const { return ok + failed; }

  // Reserves memory for a batch of `requests`. Throws std::bad_alloc.
  void Reserve(size_t requests) { parts.reserve(requests); }
  void Clear() {
    parts.clear();
    ok = ok_rows = ok_ns = queue_ns = input_ns = infer_ns = output_ns = 0;
    failed = failed_ns = cancelled = backend_failed = reruns = 0;
  }

  // Null rows do not count. `first_ns`: when the first response was made; 0: the final response was
  // the first.
  void AddOk(const RequestHeader& header, uint64_t count, const BatchTimings& timings,
             uint64_t first_ns = 0) {
    if (header.null_row) return;
    const Times times = TimesOf(header, timings, first_ns);
    ok += count;
    ok_rows += count * header.batch_size;
    ok_ns += count * times.request_ns;
    queue_ns += count * times.queue_ns;
    input_ns += count * times.input_ns;
    infer_ns += count * times.infer_ns;
    output_ns += count * times.output_ns;
    AddPart(&parts, times, count, true);
  }
  void AddFailed(const RequestHeader& header, const BatchTimings& timings, Failure failure,
                 uint64_t first_ns = 0) {
    if (header.null_row) return;
    const Times times = TimesOf(header, timings, first_ns);
    failed++;
    failed_ns += times.request_ns;
    if (failure == Failure::kCancelled) cancelled++;
    if (failure == Failure::kBackend) backend_failed++;
    AddPart(&parts, times, 1, false);
  }

  // Adds these sums to the statistics, except last_inference_ms.
  void AddTo(Statistics* statistics, const BatchTimings& timings) const {
    statistics->execution_count++;
    statistics->reruns += reruns;
    statistics->inference_count += ok_rows;
    statistics->success.Add(ok, ok_ns);
    statistics->fail.Add(failed, failed_ns);
    statistics->cancelled += cancelled;
    statistics->backend_failed += backend_failed;
    statistics->queue.Add(ok, queue_ns);
    statistics->compute_input.Add(ok, input_ns);
    statistics->compute_infer.Add(ok, infer_ns);
    statistics->compute_output.Add(ok, output_ns);
    if (ok == 0) return;
    try {
      BatchStatistics& batch = statistics->batches[timings.batch_size];
      batch.compute_input.Add(1, timings.compute_start_ns - timings.exec_start_ns);
      batch.compute_infer.Add(1, timings.compute_end_ns - timings.compute_start_ns);
      batch.compute_output.Add(1, timings.exec_end_ns - timings.compute_end_ns);
    } catch (const std::bad_alloc&) {
      // There was no memory for a new batch size. The next batch of this size tries again.
    }
  }

  // Adds requests, to the last part if their times are equal. `parts` must have capacity for one
  // more part.
  static void AddPart(std::vector<Part>* parts, const Times& times, uint64_t count, bool ok) {
    if (!parts->empty() && parts->back().ok == ok && parts->back().times == times) {
      parts->back().count += count;
    } else {
      parts->push_back({times, count, ok});
    }
  }

 private:
  static Times TimesOf(const RequestHeader& header, const BatchTimings& timings,
                       uint64_t first_ns) {
    const uint64_t arrival = header.arrival_ns;
    Times times;
    times.request_ns = timings.exec_end_ns - arrival;
    times.queue_ns = timings.exec_start_ns - arrival;
    times.input_ns = timings.compute_start_ns - timings.exec_start_ns;
    times.infer_ns = timings.compute_end_ns - timings.compute_start_ns;
    times.output_ns = timings.exec_end_ns - timings.compute_end_ns;
    times.first_ns = (first_ns != 0 ? first_ns : timings.exec_end_ns) - arrival;
    return times;
  }
};

}  // namespace tritonts

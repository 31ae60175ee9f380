// The statistics of a model version, with Triton's names. They are updated once a batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/memory/memory_use.h"

namespace tritonts {

struct Duration {
  uint64_t count = 0;
  uint64_t ns = 0;
  void Add(uint64_t n, uint64_t nanoseconds) {
    count += n;
    ns += nanoseconds;
  }
  void Add(const Duration& other) { Add(other.count, other.ns); }
};

struct BatchStatistics {
  Duration compute_input;
  Duration compute_infer;
  Duration compute_output;
};

// The statistics of the k-th responses to a decoupled model's requests.
struct ResponseStatistics {
  Duration compute_infer;   // of responses that succeeded, failed or were empty
  Duration compute_output;  // of responses that succeeded or failed
  Duration success;
  Duration fail;
  Duration empty_response;
  Duration cancel;
};

struct Statistics {
  uint64_t last_inference_ms = 0;  // when the last batch ran, since 1970
  uint64_t inference_count = 0;    // rows of successful requests
  uint64_t execution_count = 0;    // batches, including failed ones and their halves
  uint64_t reruns = 0;             // of these: halves of batches that failed as a whole
  Duration success;
  Duration fail;
  uint64_t cancelled = 0;  // part of `fail`: cancelled by their callers
  uint64_t rejected = 0;   // part of `fail`: timed out in the queue
  // Requests that were never accepted, mostly because the queue was full. Not part of `fail`.
  // Requests that another version may accept are not counted.
  uint64_t refused = 0;
  uint64_t backend_failed = 0;  // part of `fail`: the backend responded with an error
  Duration queue;
  Duration compute_input;
  Duration compute_infer;
  Duration compute_output;
  // Requests that the response cache answered, which are part of `success`, and requests that it
  // could not answer.
  Duration cache_hit;
  Duration cache_miss;
  std::map<uint32_t, BatchStatistics> batches;  // by rows
  std::vector<ResponseStatistics> responses;    // by number; empty unless decoupled
  std::vector<MemoryUse> memory;

  // Adds the statistics of other instances, except responses and memory. Throws std::bad_alloc.
  void Add(const Statistics& other) {
    last_inference_ms = std::max(last_inference_ms, other.last_inference_ms);
    inference_count += other.inference_count;
    execution_count += other.execution_count;
    reruns += other.reruns;
    success.Add(other.success);
    fail.Add(other.fail);
    cancelled += other.cancelled;
    rejected += other.rejected;
    refused += other.refused;
    backend_failed += other.backend_failed;
    queue.Add(other.queue);
    compute_input.Add(other.compute_input);
    compute_infer.Add(other.compute_infer);
    compute_output.Add(other.compute_output);
    cache_hit.Add(other.cache_hit);
    cache_miss.Add(other.cache_miss);
    for (const auto& [rows, times] : other.batches) {
      BatchStatistics& batch = batches[rows];
      batch.compute_input.Add(times.compute_input);
      batch.compute_infer.Add(times.compute_infer);
      batch.compute_output.Add(times.compute_output);
    }
  }
};

}  // namespace tritonts

// What a model version did, in Triton's terms (schedulers' statistics: success, fail, queue,
// compute_input, compute_infer, compute_output, batch sizes). Added up once per batch.
#pragma once

#include <cstdint>
#include <map>

namespace tritonts {

struct Duration {
  uint64_t count = 0;
  uint64_t ns = 0;
  void Add(uint64_t n, uint64_t nanoseconds) {
    count += n;
    ns += nanoseconds;
  }
};

struct BatchStatistics {
  Duration compute_input;
  Duration compute_infer;
  Duration compute_output;
};

struct Statistics {
  uint64_t last_inference_ms = 0;  // of the last executed batch, since 1970
  uint64_t inference_count = 0;    // rows of successful requests
  uint64_t execution_count = 0;    // batches, failed ones too
  Duration success;
  Duration fail;
  uint64_t cancelled = 0;  // of `fail`: ended by their callers
  uint64_t rejected = 0;   // of `fail`: their time in the queue was over
  Duration queue;
  Duration compute_input;
  Duration compute_infer;
  Duration compute_output;
  std::map<uint32_t, BatchStatistics> batches;  // by rows
};

}  // namespace tritonts

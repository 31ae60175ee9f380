// The time stamps of a run: when it began, had its inputs, and had computed its outputs.
//
// Owned by a run. Thread-safe for marks; all other functions need the run's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/base/clock.h"
#include "engine/request/response_sink.h"

namespace tritonts {

class RunClock {
 public:
  void Assign(uint64_t number, uint32_t rows) {
    last_ = BatchTimings();
    last_.batch = number;
    last_.batch_size = rows;
    inputs_ready_ns_.store(0, std::memory_order_relaxed);
    computed_ns_.store(0, std::memory_order_relaxed);
  }
  void Begin(uint64_t now_ns) { last_.exec_start_ns = now_ns; }

  // Marks a time; `at_ns` 0: now. Thread-safe.
  void MarkInputsReady(uint64_t at_ns) { Mark(&inputs_ready_ns_, at_ns); }
  void MarkComputed(uint64_t at_ns) { Mark(&computed_ns_, at_ns); }
  // 0: not marked.
  uint64_t inputs_ready_ns() const { return inputs_ready_ns_.load(std::memory_order_relaxed); }
  uint64_t computed_ns() const { return computed_ns_.load(std::memory_order_relaxed); }

  // Reads the times of a response that is made now. Stamp also stores them as the last ones.
  void Read(BatchTimings* timings) const {
    const uint64_t now = NowNs();
    const uint64_t ready = inputs_ready_ns();
    const uint64_t computed = computed_ns();
    *timings = last_;
    timings->exec_end_ns = now;
    // Times reported by a device are not exact to the nanosecond.
    const uint64_t begin = std::min(timings->exec_start_ns, now);
    timings->compute_end_ns = computed != 0 ? std::clamp(computed, begin, now) : now;
    timings->compute_start_ns =
        ready != 0 ? std::clamp(ready, begin, timings->compute_end_ns) : timings->compute_end_ns;
  }
  void Stamp(BatchTimings* timings) {
    Read(timings);
    last_ = *timings;
  }
  // The times of the last response.
  const BatchTimings& last() const { return last_; }

 private:
  static void Mark(std::atomic<uint64_t>* mark, uint64_t at_ns) {
    mark->store(at_ns != 0 ? at_ns : NowNs(), std::memory_order_relaxed);
  }

  std::atomic<uint64_t> inputs_ready_ns_{0};
  std::atomic<uint64_t> computed_ns_{0};
  BatchTimings last_;
};

}  // namespace tritonts

// A log of a version's last batches. A record is filled when a batch is given to its instance and
// when its run is done. It is read on request.
//
// Part of the dispatcher and guarded by its version's lock, which is held at both moments anyway.
// Logging does not allocate, and its cost does not depend on the number of requests. Batches of a
// warm-up are left out, because no scheduler formed them. A failed batch and its halves share one
// record.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/scheduling/batch.h"
#include "engine/scheduling/sequence_counts.h"

namespace tritonts {

struct BatchRecord {
  uint64_t given_ns = 0;    // when its instance got it
  uint64_t waited_ns = 0;   // how long its first request had waited by then
  uint64_t started_ns = 0;  // when Execute was called
  uint64_t ended_ns = 0;    // the time of its last response; 0: its run is not done
  uint32_t rows = 0;
  uint32_t requests = 0;  // 0: the batch is not logged
  uint32_t left = 0;      // requests that stayed in the queue when the batch was taken
  uint32_t instance = 0;
  ClosedBy closed_by = ClosedBy::kNothingMore;
  bool ran_inline = false;

  // Notes the times of the run. If the batch ran again in halves, the record keeps its start, and
  // its end is that of the last half.
  void Ran(uint64_t from_ns, uint64_t to_ns) {
    if (started_ns == 0) started_ns = from_ns;
    ended_ns = std::max(to_ns, started_ns);
  }
};

class BatchLog {
 public:
  static constexpr size_t kMost = 64;

  // Replaces the oldest record.
  void Add(const BatchRecord& record) { records_[added_++ % kMost] = record; }
  // Appends the kept records in the order in which they ended, up to the vector's capacity.
  void CopyTo(std::vector<BatchRecord>* records) const {
    const size_t kept = std::min(added_, kMost);
    for (size_t i = added_ - kept; i < added_ && records->size() < records->capacity(); i++) {
      records->push_back(records_[i % kMost]);
    }
  }

 private:
  std::array<BatchRecord, kMost> records_;
  size_t added_ = 0;
};

// A version's report of its batches.
struct BatchHistory {
  // First those of finished runs, then those of runs under way; at most BatchLog::kMost of each.
  std::vector<BatchRecord> records;
  uint64_t now_ns = 0;  // the time of the report
  size_t instances = 0;
  size_t waiting = 0;  // requests that are in no run
  size_t held = 0;     // instances whose batch waits at the gate
  SequenceCounts sequences;
};

}  // namespace tritonts

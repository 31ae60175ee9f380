// How a version's last batches came about: written down when a batch is given to its instance and
// when its run is done, read when somebody asks.
//
// Part of the dispatcher and guarded by its version's lock, which is held at both moments anyway.
// Nothing is allocated, and a batch costs the same however many requests it has. Batches of a
// warm-up are left out, as no scheduler made them. The halves of one that failed are its time, and
// no batches of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/scheduling/batch.h"

namespace tritonts {

struct BatchRecord {
  uint64_t given_ns = 0;    // when its instance got it
  uint64_t waited_ns = 0;   // how long its first request had waited by then
  uint64_t started_ns = 0;  // when Execute was called
  uint64_t ended_ns = 0;    // its last response; 0: its run is not done
  uint32_t rows = 0;
  uint32_t requests = 0;  // 0: it is not written down
  uint32_t left = 0;      // requests that went on waiting when it was taken
  uint32_t instance = 0;
  ClosedBy closed_by = ClosedBy::kNothingMore;
  bool ran_inline = false;

  // Of a batch that ran again in halves: the last of them.
  void Ran(uint64_t from_ns, uint64_t to_ns) {
    if (started_ns == 0) started_ns = from_ns;
    ended_ns = std::max(to_ns, started_ns);
  }
};

class BatchLog {
 public:
  static constexpr size_t kMost = 64;

  // Takes the place of the oldest one.
  void Add(const BatchRecord& record) { records_[added_++ % kMost] = record; }
  // Appends those that are kept, the one that ended first in front, as far as there is room.
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

// What a version tells of its batches.
struct BatchHistory {
  // Of runs that are done, up to BatchLog::kMost; then of runs under way, up to as many.
  std::vector<BatchRecord> records;
  uint64_t now_ns = 0;  // when it was read
  size_t instances = 0;
  size_t waiting = 0;  // requests that are in no run
};

}  // namespace tritonts

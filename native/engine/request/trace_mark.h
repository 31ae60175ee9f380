// What a header carries of traces (engine/trace): the traces of its requests, and the traces of the
// requests that caused them.
//
// The sender writes `chosen` and `parents` before Submit. The tracer writes `own` at Submit, and
// clears each trace at the final response of its request. Readers of a trace are what serves the
// request: the steps of an ensemble, and calls of a model's batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tritonts {

class TraceTree;

// A traced request: its tree, of which this shares ownership, and its id. Empty: not traced.
struct TraceRef {
  std::shared_ptr<TraceTree> tree;
  uint64_t id = 0;
  explicit operator bool() const { return tree != nullptr; }
};

// A request of a header, or a batch, by its position, and a trace.
struct TraceMark {
  uint32_t position = 0;
  TraceRef trace;
};

// Marks are sorted by position.
inline TraceMark* FindMark(std::vector<TraceMark>* marks, uint32_t position) {
  const auto found =
      std::lower_bound(marks->begin(), marks->end(), position,
                       [](const TraceMark& one, uint32_t at) { return one.position < at; });
  return found != marks->end() && found->position == position ? &*found : nullptr;
}

struct HeaderTraces {
  uint64_t chosen = 0;  // the trace that a front end has begun for the first request; 0: none
  std::vector<TraceMark> parents;
  std::vector<TraceMark> own;
};

}  // namespace tritonts

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

// The traced request that caused others. It shares no ownership: after its end, what it caused is
// not traced.
struct TraceParent {
  std::weak_ptr<TraceTree> tree;
  uint64_t id = 0;  // 0: it is not traced

  TraceParent() = default;
  TraceParent(const TraceRef& trace) : tree(trace.tree), id(trace.id) {}
};

// A request of a header, or a batch, by its position, and its trace or its parent's.
template <typename T>
struct TraceMark {
  uint32_t position = 0;
  T trace;
};
template <typename T>
using TraceMarks = std::vector<TraceMark<T>>;

// Marks are sorted by position.
template <typename T>
TraceMark<T>* FindMark(TraceMarks<T>* marks, uint32_t position) {
  const auto found =
      std::lower_bound(marks->begin(), marks->end(), position,
                       [](const TraceMark<T>& one, uint32_t at) { return one.position < at; });
  return found != marks->end() && found->position == position ? &*found : nullptr;
}

struct HeaderTraces {
  uint64_t chosen = 0;  // the trace that a front end has begun for the first request; 0: none
  TraceMarks<TraceParent> parents;
  TraceMarks<TraceRef> own;
};

}  // namespace tritonts

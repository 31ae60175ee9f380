// The CUDA graphs of an instance: batches of some shapes that were recorded when it was made, so
// that each is enqueued by one call.
//
// A graph has the addresses and shapes of its recording, so each lane has its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../../device/graph.h"
#include "contexts.h"

namespace tritonts::tensorrt {

struct RecordedGraph {
  uint32_t lane = 0;
  Object* context = nullptr;
  // By input: the shape that is computed, and the smallest that may be padded to it.
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<int64_t>> least;
  // By output, for these shapes.
  std::vector<std::vector<int64_t>> outputs;
  // Of inputs and then outputs, when it was recorded.
  std::vector<device::cuda::Address> addresses;
  device::Graph graph;

  // Whether it computes these shapes, and no larger ones.
  bool IsFor(std::span<const Contexts::Given> inputs) const;
};

class Graphs {
 public:
  RecordedGraph& Add(RecordedGraph graph) { return all_.emplace_back(std::move(graph)); }
  std::vector<RecordedGraph>& all() { return all_; }
  // The graph of a lane and a context for these shapes: the one that was recorded with them, else
  // the one that needs the least padding. Null: there is none.
  RecordedGraph* Find(uint32_t lane, const Object* context,
                      std::span<const Contexts::Given> inputs);

 private:
  std::vector<RecordedGraph> all_;
};

}  // namespace tritonts::tensorrt

// The CUDA graphs of an instance. Batches of some shapes are recorded when the instance is created,
// so that one call enqueues such a batch.
//
// A graph contains the addresses and shapes of its recording, so each lane has its own graphs.
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
  // By input: the shape that is computed, and the smallest shape that may be padded to it.
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<int64_t>> least;
  // By output: the shape computed for these inputs.
  std::vector<std::vector<int64_t>> outputs;
  // The addresses of inputs, then outputs, when the graph was recorded.
  std::vector<device::cuda::Address> addresses;
  device::Graph graph;

  // Whether the graph computes exactly these shapes.
  bool IsFor(std::span<const Contexts::Given> inputs) const;
};

class Graphs {
 public:
  RecordedGraph& Add(RecordedGraph graph) { return all_.emplace_back(std::move(graph)); }
  std::vector<RecordedGraph>& all() { return all_; }
  // Returns a lane's graph in this context for these shapes: the one recorded with them, else the
  // one that needs the least padding. Null if there is none.
  RecordedGraph* Find(uint32_t lane, const Object* context,
                      std::span<const Contexts::Given> inputs);

 private:
  std::vector<RecordedGraph> all_;
};

}  // namespace tritonts::tensorrt

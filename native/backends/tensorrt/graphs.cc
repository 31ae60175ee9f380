#include "graphs.h"

#include <algorithm>

namespace tritonts::tensorrt {

namespace {

// Adds the padding needed to compute an input with a larger shape. Returns false if that is
// impossible.
bool AddPadding(std::span<const int64_t> shape, const std::vector<int64_t>& least,
                const std::vector<int64_t>& most, uint64_t* padding) {
  if (shape.size() != most.size()) return false;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] < least[i] || shape[i] > most[i]) return false;
    *padding += static_cast<uint64_t>(most[i] - shape[i]);
  }
  return true;
}

}  // namespace

bool RecordedGraph::IsFor(std::span<const Contexts::Given> inputs) const {
  for (size_t i = 0; i < inputs.size(); i++)
    if (!std::equal(inputs[i].shape.begin(), inputs[i].shape.end(), shapes[i].begin(),
                    shapes[i].end())) {
      return false;
    }
  return true;
}

RecordedGraph* Graphs::Find(uint32_t lane, const Object* context,
                            std::span<const Contexts::Given> inputs) {
  RecordedGraph* found = nullptr;
  uint64_t least = 0;
  for (RecordedGraph& one : all_) {
    if (one.lane != lane || one.context != context) continue;
    uint64_t padding = 0;
    bool takes = true;
    for (size_t i = 0; i < inputs.size() && takes; i++)
      takes = AddPadding(inputs[i].shape, one.least[i], one.shapes[i], &padding);
    if (!takes || (found && padding >= least)) continue;
    found = &one;
    least = padding;
    if (least == 0) break;
  }
  return found;
}

}  // namespace tritonts::tensorrt

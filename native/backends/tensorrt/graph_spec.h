// Which CUDA graphs of a plan are recorded, and for which shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/status.h"

namespace tritonts::tensorrt {

// One graph, as optimization.cuda.graph_spec has it.
struct GraphSpec {
  // A batch of at least so many rows may use the graph, which computes `rows`. 0: without batches.
  int64_t least_rows = 0;
  int64_t rows = 0;
  // Dims without the rows, likewise.
  struct Range {
    std::vector<int64_t> least;
    std::vector<int64_t> most;
  };
  std::map<std::string, Range> inputs;  // by name; one that is missing has a profile's best dims
  // What the config calls it; "": it is of the default ones, of which a plan takes what it can.
  std::string path;
};

// What the config says of graphs.
struct GraphSettings {
  bool on = false;
  std::vector<GraphSpec> specs;
  std::vector<uint32_t> preferred_rows;  // of the dynamic batcher
};

// Reads the setting `graph_specs`: lines "graph ROWS LEAST_ROWS", each with lines
// "input DIMS LEAST_DIMS NAME", where dims are separated by commas, and "-" is none. False: it is
// not so.
bool ReadGraphSpecs(const std::string& text, std::vector<GraphSpec>* specs);

// The graphs of a model: those of its config, or Triton's default: one row, the preferred sizes or
// else small ones, and max_batch_size. INVALID_ARG: a spec does not fit the model.
StatusOr<std::vector<GraphSpec>> ResolveGraphs(const GraphSettings& settings, const ModelIo& io);

}  // namespace tritonts::tensorrt

// The CUDA graphs of a plan: which are recorded, and for which shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/status.h"

namespace tritonts::tensorrt {

// One graph, as in optimization.cuda.graph_spec.
struct GraphSpec {
  // The graph computes `rows`; a batch of at least `least_rows` may use it. 0: no batching.
  int64_t least_rows = 0;
  int64_t rows = 0;
  // The same for dims without the rows.
  struct Range {
    std::vector<int64_t> least;
    std::vector<int64_t> most;
  };
  std::map<std::string, Range> inputs;  // by name; an absent input has a profile's optimal dims
  // The field path in the configuration, for errors. "": a default graph, which is skipped if the
  // plan cannot have it.
  std::string path;
};

// The graph settings of the configuration.
struct GraphSettings {
  bool on = false;
  std::vector<GraphSpec> specs;
  std::vector<uint32_t> preferred_rows;  // of the dynamic batcher
};

// Parses the setting `graph_specs`: lines "graph ROWS LEAST_ROWS", each followed by lines "input
// DIMS LEAST_DIMS NAME". Dims are separated by commas; "-" means no dims. Returns false if the text
// is malformed.
bool ReadGraphSpecs(const std::string& text, std::vector<GraphSpec>* specs);

// Returns the graphs of a model: the configured ones, or Triton's default. The default has one row,
// the preferred batch sizes (else small ones), and max_batch_size. INVALID_ARG if a spec does not
// fit the model.
StatusOr<std::vector<GraphSpec>> ResolveGraphs(const GraphSettings& settings, const ModelIo& io);

}  // namespace tritonts::tensorrt

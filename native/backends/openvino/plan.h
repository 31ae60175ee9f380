// How a configured model runs: which of OpenVINO's ports belongs to which tensor, and which sizes
// are known before a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/model_io.h"
#include "library.h"
#include "ports.h"

namespace tritonts::openvino {

struct InputPlan {
  std::string name;
  size_t port = 0;
  DataType datatype = DataType::kInvalid;
  bool scalar = false;  // dims [1] in the configuration, rank 0 in the model
};

struct OutputPlan {
  std::string name;
  size_t port = 0;
  DataType datatype = DataType::kInvalid;
  bool scalar = false;
  // Whether the shape follows from the number of rows. Then `dims` has the shape in a response
  // (with batching: of a row) and `bytes` its size, and the library writes to memory of ours.
  bool fixed = false;
  std::vector<int64_t> dims;
  size_t bytes = 0;
};

// Immutable; the instances share it.
struct Plan {
  std::string model;
  bool batching = false;
  // The model takes exactly so many rows, and smaller batches get rows of zeros; 0: it takes any
  // number of rows.
  uint32_t padded_rows = 0;
  std::vector<InputPlan> inputs;    // in the order of the configuration
  std::vector<OutputPlan> outputs;  // the same
};

struct PlanOptions {
  bool padding = false;
  bool reshape = false;
};

// Makes the plan, and gives the model the shapes for it: with batching, the first dim becomes
// dynamic. `inputs` and `outputs` are the model's ports as they were read. INVALID_ARG: the
// configuration does not fit the model.
StatusOr<Plan> MakePlan(const Library& library, const OvModel* model, const ModelIo& io,
                        const std::vector<PortFacts>& inputs, const std::vector<PortFacts>& outputs,
                        const PlanOptions& options);

// Whether each output has as many rows as the inputs, for any number of rows in the first dim of
// all inputs. The model gets other shapes for that, and afterwards its own again. Only for models
// whose inputs all have a dynamic first dim; false: unknown, too.
StatusOr<bool> KeepsRows(const Library& library, const OvModel* model,
                         const std::vector<PortFacts>& inputs);

}  // namespace tritonts::openvino

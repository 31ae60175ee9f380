// How a configured model runs: where its tensors are in the graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/model_io.h"
#include "session.h"

namespace tritonts::tensorflow {

struct TensorPlan {
  std::string name;
  std::string place;  // "operation:index"
  DataType datatype = DataType::kInvalid;
  TfOutput output{};    // the same in the session that the plan was made for
  int type = 0;         // TensorFlow's number
  bool scalar = false;  // dims [1] in the configuration, rank 0 in the model
};

// Immutable; the instances share it.
struct Plan {
  std::string model;
  bool batching = false;
  // Whether the calling thread runs the operations.
  bool in_caller = true;
  // Whether an operation may keep an input after a run. Then requests' own memory is not lent.
  bool keeps = true;
  std::vector<TensorPlan> inputs;   // in the order of the configuration
  std::vector<TensorPlan> outputs;  // the same
  ModelIo io;                       // as configured
};

// Makes the plan. `signature` has the tensors that the model offers; for a graph without
// signatures, outputs may have the name of any operation. INVALID_ARG: the configuration does not
// fit the model.
StatusOr<Plan> MakePlan(const Session& session, const ModelIo& io, const Signature& signature,
                        bool any_output);

}  // namespace tritonts::tensorflow

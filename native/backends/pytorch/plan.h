// How requests become arguments of forward, and its result becomes responses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "library.h"

namespace tritonts::pytorch {

// The torch type of a datatype; kTorchOtherType: there is none. BYTES have a kind instead.
int32_t TorchTypeOf(DataType datatype);
// The datatype of a torch type; kInvalid: there is none.
DataType DataTypeOf(int32_t type);

struct InputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  uint32_t argument = 0;  // with `is_map`: the input's own index
};

struct OutputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  uint32_t value = 0;  // unless the result is a dict, whose key is the name
};

// Immutable.
struct Plan {
  std::string model;
  bool batching = false;
  // The inputs are the entries of one Dict[str, Tensor].
  bool is_map = false;
  // Runs may change or keep inputs, or change the module.
  bool has_effects = false;
  bool branches = false;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
  ModelIo io;  // as configured
};

// Compares the configuration with forward's arguments. INVALID_ARG or INTERNAL, as in Triton: they
// do not fit.
StatusOr<Plan> MakePlan(const Library& library, const TorchModule* module, const std::string& model,
                        const ModelIo& io);

}  // namespace tritonts::pytorch

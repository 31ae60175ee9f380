// A model's inputs and outputs as configured: what requests to it may have, and what its responses
// have. These are plain values, which any code may copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/datatype.h"

namespace tritonts {

// One input or output of a model, as configured. `dims` are the full dims: the first is -1 if the
// model batches, except with `rows_in_values`.
struct TensorSpec {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  bool optional = false;
  // The dims that callers see, if the configuration has a reshape: the same number of elements, and
  // as many -1. Empty: `dims`.
  std::vector<int64_t> outer = {};
  // A shape tensor of a model that batches. Its first value is the number of rows (shape_values.h),
  // and `dims` has no batch dimension.
  bool rows_in_values = false;
  // An input whose variable dims may differ within a batch (Triton: allow_ragged_batch). The
  // requests' elements follow each other in one tensor of one dim (GatherRagged).
  bool ragged = false;
  // A tensor between the engine and the model: an input that the engine injects into a batch, or an
  // output that it keeps (scheduling/batch.h). Callers neither send nor receive it.
  bool internal = false;
  // An input that BatchInputSpec describes. Its parts (row_inputs.h) are gathered along the first
  // dim, whether the model batches or not.
  bool of_batch = false;
  // Of an output: the input whose shape in a request gives the variable dims of the output, each at
  // its place (Triton: BATCH_SCATTER_WITH_INPUT_SHAPE). The requests' parts follow each other.
  std::optional<uint32_t> shaped_like = {};
};

// An input that the engine makes from the shapes of another one in all slots of a batch (Triton:
// batch_input). "Elements" of a request include its batch dimension.
struct BatchInputSpec {
  // The numbers are Triton's BatchInput.Kind.
  enum class Kind : uint8_t {
    kElementCount,                     // the elements of each request
    kAccumulatedElementCount,          // running sums of these
    kAccumulatedElementCountWithZero,  // the same after a 0
    kMaxElementCountAsShape,           // zeros, as many as the largest request has elements
    kItemShape,                        // for each row: the source's dims without the first
    kItemShapeFlatten,                 // the same in one dim
  };
  Kind kind = Kind::kElementCount;
  uint32_t source = 0;  // position of the input that it is made from
  uint32_t target = 0;  // its own position; the input is internal, and INT32 or FP32
};

struct ModelIo {
  uint32_t max_batch_size = 0;  // 0: tensors have no batch dimension
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<BatchInputSpec> batch_inputs = {};
};

}  // namespace tritonts

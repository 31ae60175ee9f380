// Descriptions of a model's inputs and outputs: as configured, and as the runtime reports them.
// These are plain values, which any code may copy.
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
};

// One input or output as the runtime describes it.
struct TensorDescription {
  std::string name;
  DataType datatype = DataType::kInvalid;  // kInvalid: a type that Triton has no name for
  std::string type_name;                   // the runtime's name for the type
  std::vector<int64_t> dims;               // full; -1: dynamic
  bool has_rank = true;  // false: the number of dims is unknown, and `dims` is empty
  bool optional = false;
  bool is_shape_tensor = false;  // its values are shapes, which the runtime reads on the host
  // The name of each dim; "": no name. Dims with the same name are equal. Empty if the runtime does
  // not name dims.
  std::vector<std::string> dim_names = {};
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  // Why outputs may have a different number of rows than inputs although their first dims have one
  // name. A clause, such as "the model has the operator NonZero". Empty: no reason is known.
  std::string rows_vary = {};
  // The largest number of rows of a batch, if the model limits it; 0: the model does not batch.
  std::optional<uint32_t> most_rows = {};
};

}  // namespace tritonts

// A model's inputs and outputs as its runtime describes them. These are plain values, which any
// code may copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/datatype.h"

namespace tritonts {

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
  // Of a model that completes its configuration while it is loaded: the configuration, as JSON in
  // Triton's form. Empty: it completes nothing.
  std::string config = {};
  // The instance groups that its backend prefers, as a JSON list in Triton's form. They count if
  // the configuration has none. Empty: no preference.
  std::string instance_groups = {};
};

}  // namespace tritonts

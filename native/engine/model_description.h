// What is known of a model's inputs and outputs: as they are configured, and as a runtime describes
// them. Values, which anybody may copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/datatype.h"

namespace tritonts {

// One input or output of a model, as configured. `dims` are full: the first is -1 if the model
// batches, except where `rows_in_values`.
struct TensorSpec {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  bool optional = false;
  // What callers see, where the configuration has a reshape: the same elements, and as many -1.
  // Empty: `dims`.
  std::vector<int64_t> outer = {};
  // It is a shape tensor of a model that batches: its first value is the rows (shape_values.h), and
  // `dims` has no batch.
  bool rows_in_values = false;
  // An input whose variable dims may differ within a batch (Triton: allow_ragged_batch). The
  // requests' elements follow each other in one tensor of one dim (GatherRagged).
  bool ragged = false;
  // It is between the engine and the model: an input that the engine injects into a batch, or an
  // output that it keeps (scheduling/batch.h). Callers neither give nor want it.
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
  // The name of each dim; "": it has none. Dims of one name are equal. Empty if the runtime has no
  // such names.
  std::vector<std::string> dim_names = {};
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  // Why outputs may have other rows than inputs although their dims have one name. A clause, such
  // as "the model has the operator NonZero". Empty: no reason is known.
  std::string rows_vary = {};
  // The most rows that a batch may have, where the model has such a limit; 0: it has no batches.
  std::optional<uint32_t> most_rows = {};
};

}  // namespace tritonts

// A session's inputs and outputs, as the runtime tells them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "session.h"

namespace tritonts::onnxruntime {

// Triton's datatype for a type of element; kInvalid where it has none.
DataType ToDataType(ElementType type);
// The other way; kUndefined for kInvalid.
ElementType ToElementType(DataType type);

// Inputs, then overridable initializers as optional inputs; outputs. Anything but a dense tensor
// has datatype kInvalid and says in type_name what it is. `spec` is what the session was made of.
StatusOr<ModelDescription> DescribeSession(const Session& session, const ModelSpec& spec);

// The shape of a tensor that the runtime made.
Status ReadTensorShape(const Session& session, const OrtValue* value, std::vector<int64_t>* shape);

// How many elements such a tensor has.
inline size_t CountElements(std::span<const int64_t> shape) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return count;
}

}  // namespace tritonts::onnxruntime

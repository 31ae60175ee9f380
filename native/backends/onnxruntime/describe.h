// A session's inputs and outputs, as the runtime describes them. Any thread may call these
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "session.h"

namespace tritonts::onnxruntime {

// Triton's datatype for an element type; kInvalid: there is none.
DataType ToDataType(ElementType type);
// The element type for a datatype; kUndefined for kInvalid.
ElementType ToElementType(DataType type);

// Describes the inputs, then overridable initializers as optional inputs, and the outputs. A value
// that is not a dense tensor has datatype kInvalid, and its type_name says what it is. The session
// was created from `spec`.
StatusOr<ModelDescription> DescribeSession(const Session& session, const ModelSpec& spec);

// Reads the shape of a tensor that the runtime created.
Status ReadTensorShape(const Session& session, const OrtValue* value, std::vector<int64_t>* shape);

// The number of elements of such a tensor.
inline size_t CountElements(std::span<const int64_t> shape) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return count;
}

}  // namespace tritonts::onnxruntime

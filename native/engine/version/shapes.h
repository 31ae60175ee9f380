// Converts the shapes of tensors that pass between models. A tensor has the shape that callers of
// its model see. The model itself may see another shape (Triton's `reshape`).
#pragma once

#include <cstdint>
#include <string>

#include "engine/backend.h"
#include "engine/base/small_vector.h"

namespace tritonts {

using TensorShape = SmallVector<int64_t, 4>;

// Adds or removes a batch dimension of 1 if only one of the sending and receiving models batches.
// `dims` are the receiver's. All functions of this file throw std::bad_alloc.
void AdaptBatch(const std::vector<int64_t>& dims, bool batches, TensorShape* shape);

// Convert a shape that callers see to the model's shape, and back. Not ok: the shape does not have
// the dims of the configuration.
Status ToModelShape(const std::string& model, const ModelIo& io, uint32_t input,
                    TensorShape* shape);
Status ToCallerShape(const std::string& model, const ModelIo& io, uint32_t output,
                     TensorShape* shape);

// Converts the shapes of all inputs of a header that did not come from a port to the model's, and
// sets the header's rows. The rows are the first dim of the first input that has one. Unknown
// inputs stay as they are, and CheckRequest refuses them. Not ok: as for ToModelShape,
// or the rows are more than a header can count.
Status FitToModel(const std::string& model, const ModelIo& io, RequestHeader* header);

}  // namespace tritonts

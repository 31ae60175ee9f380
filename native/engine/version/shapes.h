// The shapes of tensors on their way between models. A tensor has the shape that callers of its
// model see. The model itself may have another one (Triton's `reshape`).
#pragma once

#include <cstdint>
#include <string>

#include "engine/backend.h"
#include "engine/base/small_vector.h"

namespace tritonts {

using TensorShape = SmallVector<int64_t, 4>;

// Adds or takes away a batch dimension of 1, where a tensor goes between models of which only one
// batches. `dims` are the receiver's. Throws std::bad_alloc, as all of these.
void AdaptBatch(const std::vector<int64_t>& dims, bool batches, TensorShape* shape);

// Makes the shape that callers see the model's, and back. Not ok: it does not have the dims that
// the configuration says.
Status ToModelShape(const std::string& model, const ModelIo& io, uint32_t input,
                    TensorShape* shape);
Status ToCallerShape(const std::string& model, const ModelIo& io, uint32_t output,
                     TensorShape* shape);

// Makes all inputs of a header that came from elsewhere than a port the model's, and sets its rows:
// the first dim of the first input that tells them. Inputs that the model does not have stay as
// they are, and CheckRequest refuses them. Not ok: as for ToModelShape.
Status FitToModel(const std::string& model, const ModelIo& io, RequestHeader* header);

}  // namespace tritonts

// The values of shape tensors (Triton: is_shape_tensor): whole numbers that are dims.
//
// In a model that batches, a shape tensor has no batch dimension. Instead, its first value is the
// number of rows, of the request or of the batch. The other values are the same for all requests of
// a batch. TensorSpec::rows_in_values marks such tensors.
//
// Any thread may call these functions. The memory must not change during a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/request/request.h"

namespace tritonts {

// Value `index` of an INT32 or INT64 tensor in host memory, which need not be aligned.
int64_t ShapeValueAt(const void* data, DataType datatype, size_t index);
void SetShapeValue(void* data, DataType datatype, size_t index, int64_t value);

// Copies the bytes of a request's input, `input.byte_size()` bytes. False: the bytes are not in
// host memory, or were released.
bool CopyShapeValues(const Request& request, const InputTensor& input, void* to);

// Appends the values of an input of a header's first request, from number `first` on. It stops at a
// chunk outside of host memory, and appends nothing for datatypes without a fixed size.
// CheckRequest refuses both.
void AppendShapeValues(const RequestHeader& header, uint32_t index, size_t first,
                       std::vector<int64_t>* values);

}  // namespace tritonts

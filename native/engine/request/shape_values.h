// The values of shape tensors (Triton: is_shape_tensor): whole numbers that are dims.
//
// In a model that batches, a shape tensor has no batch dimension. Its first value is the rows
// instead: of a request those of the request, of a batch those of the batch. The values behind it
// are the same for all requests of a batch. TensorSpec::rows_in_values says that a tensor is such a
// one.
//
// Any thread may call these, with memory that nobody changes meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/request/request.h"

namespace tritonts {

// Value `index` of INT32 or INT64 in host memory, which need not be aligned.
int64_t ShapeValueAt(const void* data, DataType datatype, size_t index);
void SetShapeValue(void* data, DataType datatype, size_t index, int64_t value);

// Copies the bytes of a request's input, `input.byte_size()` of them. False: they are not in host
// memory, or were released.
bool CopyShapeValues(const Request& request, const InputTensor& input, void* to);

// Appends the values, from number `first` on, that a header's first request has for an input. Of
// what is not in host memory, or no number, there are none: CheckRequest refuses it.
void AppendShapeValues(const RequestHeader& header, uint32_t index, size_t first,
                       std::vector<int64_t>* values);

}  // namespace tritonts

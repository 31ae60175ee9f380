// Tensors that are part of a larger one, as padded batches are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tritonts {

// Copies the elements that two tensors with as many dims have in common, each to the place with the
// same indices. The other elements of `to` stay as they are.
void CopyBox(const void* from, std::span<const int64_t> from_shape, void* to,
             std::span<const int64_t> to_shape, size_t element);

// Whether one tensor is the beginning of the other, which has more rows at most.
bool DiffersInRowsOnly(std::span<const int64_t> one, std::span<const int64_t> other);

}  // namespace tritonts

// Copies between a tensor and a larger one that contains it, as padded batches need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tritonts {

// Copies the elements whose indices exist in both tensors. The tensors have the same rank. Other
// elements of `to` stay unchanged.
void CopyBox(const void* from, std::span<const int64_t> from_shape, void* to,
             std::span<const int64_t> to_shape, size_t element);

// Whether the shapes have the same rank and differ in the first dim at most.
bool DiffersInRowsOnly(std::span<const int64_t> one, std::span<const int64_t> other);

}  // namespace tritonts

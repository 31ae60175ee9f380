// Gathers one input of all requests of a batch into one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

struct Gathered {
  Buffer buffer;               // valid as long as the requests and its owner
  std::vector<int64_t> shape;  // of the whole batch
  bool present = false;        // false: no request of the batch has this input
  bool copied = false;         // false: used in place
};

// The rows of input `index` of every request, in order, in memory of kind `wanted` (on the
// instance's device, where it has several). Used in place where they lie next to each other in such
// memory (one request, or neighbouring slots), else copied into a block. INVALID_ARG when the
// requests disagree about dims other than the first, UNAVAILABLE when there is no memory,
// UNSUPPORTED where nobody copies between the kinds. The thread that Execute was called on;
// `device` is the instance's.
Status Gather(Run& run, uint32_t index, bool batching, Gathered* out,
              MemoryKind wanted = MemoryKind::kHost, int device = 0);

}  // namespace tritonts

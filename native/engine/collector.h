// Gathers one input of all requests of a batch into one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "backend.h"

namespace tritonts {

struct Gathered {
  Buffer buffer;               // valid as long as the batch and its owner
  std::vector<int64_t> shape;  // of the whole batch
  bool present = false;        // false: no request of the batch has this input
  bool copied = false;         // false: used in place
};

// The rows of input `index` of every request, in order. Used in place where they lie next to each
// other in host memory (one request, or neighbouring slots), else copied into a block of the
// batch's pool. INVALID_ARG when the requests disagree about dims other than the first, UNAVAILABLE
// when there is no memory. The instance's thread.
Status Gather(Batch& batch, uint32_t index, bool batching, Gathered* out);

}  // namespace tritonts

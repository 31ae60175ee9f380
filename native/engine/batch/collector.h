// The collector: gathers one input of all requests of a batch into one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

struct Gathered {
  Buffer buffer;               // valid as long as the requests and its owner are
  std::vector<int64_t> shape;  // of the whole batch
  bool present = false;        // false: no request of the batch has this input
  bool copied = false;         // false: the requests' memory is used in place
  // The parts, in order, if some are in memory that the processor cannot address and the collector
  // was to leave these. Then `buffer` has only their size and, as its kind, that memory's.
  std::vector<Buffer> parts;
};

// What is done with inputs of which a part is in memory that the processor cannot address.
enum class Elsewhere { kCopied, kLeft };

// Gathers the rows of input `index` of every request, in order, in memory of kind `wanted` on
// `device`, the instance's. Rows that lie next to each other in such memory (of one request, or of
// neighbours in a group) are used in place; others are copied into a block. With kLeft, inputs that
// are not only in host memory are left where they are (Gathered::parts). INVALID_ARG: requests
// disagree about dims other than the first. UNAVAILABLE: there is no memory. UNSUPPORTED: nothing
// copies between the kinds of memory. Only the thread on which Execute was called may call it, or
// the one that an asynchronous instance has handed the run to.
Status Gather(Run& run, uint32_t index, bool batching, Gathered* out,
              MemoryKind wanted = MemoryKind::kHost, int device = 0,
              Elsewhere elsewhere = Elsewhere::kCopied);

// Gathers a ragged input (TensorSpec::ragged): the elements of every request, in order, in one
// tensor of one dim, whatever the shapes are. `counts` gets the number of elements of each request,
// with its batch dimension; none if no request has the input. Who may call it, and what fails, is
// as above, but for the dims.
Status GatherRagged(Run& run, uint32_t index, Gathered* out, std::vector<int64_t>* counts,
                    MemoryKind wanted = MemoryKind::kHost, int device = 0,
                    Elsewhere elsewhere = Elsewhere::kCopied);

// Gathers a shape tensor of a model that batches: the values that all requests have (INVALID_ARG:
// they differ), with the rows of the batch as the first one. They are always copied. Who may call
// it, and what fails, is as above.
Status GatherShapeValues(Run& run, uint32_t index, Gathered* out);

}  // namespace tritonts

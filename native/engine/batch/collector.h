// The collector: gathers one input of all requests of a batch into one buffer. Backends include
// this header.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

struct Gathered {
  Buffer buffer;               // valid as long as the requests and its owner
  std::vector<int64_t> shape;  // of the whole batch
  bool present = false;        // false: no request of the batch has this input
  bool copied = false;         // false: points to the requests' own memory
  // With Elsewhere::kLeft, the parts of an input of which some are in memory that the processor
  // cannot address, in order. Then `buffer` has only the total size and the kind of that memory.
  std::vector<Buffer> parts;
};

// How to treat inputs of which a part is in memory that the processor cannot address: copy them, or
// list their parts.
enum class Elsewhere { kCopied, kLeft };

// Gathers the rows of input `index` of all requests, in order, into memory of kind `wanted` on
// `device`, the instance's. Rows that are adjacent in such memory (of one request, or of neighbours
// in a group) are used in place. Other rows are copied into a block. With kLeft, inputs that are
// not only in host memory are not copied (Gathered::parts). INVALID_ARG: the requests' dims differ
// beyond the first, or only some requests have the input. UNAVAILABLE: out of memory. UNSUPPORTED:
// no copier for these kinds of memory. May be called only on the thread that runs Execute, or on
// the thread that an asynchronous instance handed the run to.
Status Gather(Run& run, uint32_t index, bool batching, Gathered* out,
              MemoryKind wanted = MemoryKind::kHost, int device = 0,
              Elsewhere elsewhere = Elsewhere::kCopied);

// Gathers a ragged input (TensorSpec::ragged): the elements of all requests, in order, in one
// tensor of one dim, whatever the shapes are. `counts` gets the number of elements of each request,
// including its batch dimension. It stays empty if no request has the input. Threads and errors are
// as for Gather, but dims may differ.
Status GatherRagged(Run& run, uint32_t index, Gathered* out, std::vector<int64_t>* counts,
                    MemoryKind wanted = MemoryKind::kHost, int device = 0,
                    Elsewhere elsewhere = Elsewhere::kCopied);

// Gathers an input as its configuration says: a ragged one in one dim, one that is made for the
// batch along its first dim, and any other one as Gather does. For models that take a tensor for
// the whole batch.
Status GatherConfigured(Run& run, uint32_t index, const TensorSpec& spec, bool batching,
                        Gathered* out);

// Gathers a shape tensor of a model that batches: the values, which must be the same in all
// requests (otherwise INVALID_ARG), with the rows of the batch as the first value. Always copies.
// Threads and other errors are as for Gather.
Status GatherShapeValues(Run& run, uint32_t index, Gathered* out);

}  // namespace tritonts

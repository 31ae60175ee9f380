// Converts BYTES tensors. The engine's are serialised: each element follows its length (4 bytes,
// little endian). TensorFlow's are arrays of TfString. Any bytes are preserved in both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "library.h"

namespace tritonts::tensorflow {

// Makes a string tensor of `shape` from serialised elements, with copies of them. INVALID_ARG if
// they are truncated, or if their number differs from the shape's.
StatusOr<TensorObject> ReadStrings(const Library& library, std::span<const char> bytes,
                                   std::span<const int64_t> shape);

// A serialised string tensor.
struct SerialisedStrings {
  BlockRef block;
  size_t size = 0;
  // The offset of each row, and the end. Kept allocated between uses.
  std::vector<size_t> row_offsets;
};

// Serialises `count` elements in `rows` equal rows into a block of the run's pool. UNAVAILABLE
// without memory.
Status WriteStrings(const Library& library, Run& run, std::span<const TfString> strings,
                    size_t rows, SerialisedStrings* out);

}  // namespace tritonts::tensorflow

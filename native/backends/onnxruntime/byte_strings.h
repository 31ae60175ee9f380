// Converts BYTES tensors. The engine's are serialised: each element follows its length (4 bytes,
// little endian). The runtime's are strings. NUL bytes and invalid UTF-8 are preserved in both
// directions. Called on the thread that runs the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "session.h"

namespace tritonts::onnxruntime {

// Makes a string tensor of `shape` from serialised elements. INVALID_ARG if they are truncated, or
// if their number differs from the shape's. The caller owns `*value`.
Status ReadStrings(const Session& session, std::span<const char> bytes,
                   std::span<const int64_t> shape, OrtValue** value);

// A serialised string tensor.
struct SerialisedStrings {
  BlockRef block;
  size_t size = 0;
  // The offset of each row, and the end. Kept allocated between uses.
  std::vector<size_t> row_offsets;
  std::vector<size_t> element_offsets;  // scratch
};

// Serialises a string tensor of `count` elements in `rows` equal rows into a block of the run's
// pool. UNAVAILABLE without memory.
Status WriteStrings(const Session& session, Run& run, const OrtValue* value, size_t count,
                    size_t rows, SerialisedStrings* out);

}  // namespace tritonts::onnxruntime

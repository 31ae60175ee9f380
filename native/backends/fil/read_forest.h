// Reads a model file of trees, in any of the known formats, and checks everything that it says.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/status.h"
#include "forest.h"

namespace tritonts::fil {

enum class Format : uint8_t {
  kXgboostLegacy,  // the binary format that XGBoost wrote until 2.x
  kXgboostJson,
  kXgboostUbj,
  kLightgbm,  // text
  kTreelite,  // a checkpoint
};

// The forest of a file with these bytes, which are not kept. INVALID_ARG if the file is malformed,
// UNSUPPORTED if it is a model of a kind that this backend does not run. The memory that is needed
// meanwhile is a small multiple of the file's size. Any thread may call it; throws nothing.
StatusOr<Forest> ReadForest(Format format, std::string_view bytes) noexcept;

}  // namespace tritonts::fil

// How much memory a model holds, for statistics. A value type.
#pragma once

#include <cstdint>

#include "engine/memory/buffer.h"

namespace tritonts {

// Memory of one device that a model holds until it is unloaded.
struct MemoryUse {
  MemoryKind kind = MemoryKind::kHost;
  int device = 0;
  uint64_t bytes = 0;
};

}  // namespace tritonts

// ArrayBuffers over the engine's memory.
#pragma once

#include <cstddef>

#include "setup.h"

namespace tritonts {

// Creates an ArrayBuffer over `size` bytes at `data`. `release` runs exactly once on the JS thread,
// with `hint`, when the bytes are no longer used. Returns null if the environment forbids foreign
// memory or has no memory; `release` then also runs once, now or soon. No JavaScript exception
// stays pending. This function allocates nothing itself.
napi_value ExternalMemory(napi_env env, void* data, size_t size, napi_finalize release, void* hint);

}  // namespace tritonts

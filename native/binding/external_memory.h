// Memory of the engine's as an ArrayBuffer.
#pragma once

#include <cstddef>

#include "setup.h"

namespace tritonts {

// An ArrayBuffer over `size` bytes at `data`. `release`, with `hint`, runs once on the JS thread
// when nobody needs them any more. Null: the environment makes none over foreign memory, or it
// lacks memory; then too it runs once, now or soon. No error is left in JavaScript. It allocates
// nothing of its own.
napi_value ExternalMemory(napi_env env, void* data, size_t size, napi_finalize release, void* hint);

}  // namespace tritonts

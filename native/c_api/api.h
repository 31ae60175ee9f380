// The table of the C API (include/tritonts.h), which programs of other files than the addon use.
#pragma once

#include <cstdint>

#include "include/tritonts.h"

namespace tritonts::c_api {

// The table. It lives as long as the process. Any thread may call it.
const tritonts_api* Table();

// Distinguishes this engine from another copy of the addon in the process.
uint32_t EngineId();

}  // namespace tritonts::c_api

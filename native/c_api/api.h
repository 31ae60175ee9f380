// The table of the C API (include/tritonts.h), which programs of other files than the addon use.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/server/server.h"
#include "include/tritonts.h"

namespace tritonts::c_api {

// The table. It lives as long as the process. Any thread may call it.
const tritonts_api* Table();

// Distinguishes this engine from another copy of the addon in the process.
uint32_t EngineId();

// A server's object for Triton's functions, which plugins/server.cc defines. UNAVAILABLE: it is
// closed. Throws std::bad_alloc.
StatusOr<TRITONSERVER_Server*> TritonServerOf(const std::shared_ptr<Server>& server);

}  // namespace tritonts::c_api

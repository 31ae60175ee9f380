// The backends of this program.
//
// registry.cc is compiled once for each program: those for tests (TRITONTS_FAULTS) also have the
// backend with faults. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// The backend of that name, or null. Not owned by the caller.
Backend* FindBackend(const std::string& name);

// The names of all backends.
std::vector<std::string> BackendNames();

}  // namespace tritonts

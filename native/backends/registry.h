// The backends there are.
//
// Compiled once for each addon: the one for tests (TRITONTS_FAULTS) also has a backend with faults.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// The backend of that name, or null. Any thread.
Backend* FindBackend(const std::string& name);

// Names of all of them. Any thread.
std::vector<std::string> BackendNames();

}  // namespace tritonts

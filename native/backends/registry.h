// The backends of this program.
//
// registry.cc is compiled once per program: test programs (TRITONTS_FAULTS) also have the
// fault-injecting backends. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// Returns the backend with this name, or null. Borrowed; backends are never destroyed.
Backend* FindBackend(const std::string& name);

// The names of all backends.
std::vector<std::string> BackendNames();

}  // namespace tritonts

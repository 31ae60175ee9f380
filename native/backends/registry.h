// The backends of this program.
//
// registry.cc is compiled once for each program: those for tests (TRITONTS_FAULTS) also have the
// backend with faults. Any thread may call these functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// The backend of that name, or null. Not owned by the caller.
Backend* FindBackend(const std::string& name);

// The names of all backends.
std::vector<std::string> BackendNames();

// Opens the runtime of a backend without a model, with the settings that Backend::Load would get.
// Returns what Model::Info says of it: "library" and "version"; nothing if it needs none. Called on
// a loader thread.
StatusOr<std::map<std::string, std::string>> OpenRuntime(
    const std::string& name, const std::map<std::string, std::string>& settings);

}  // namespace tritonts

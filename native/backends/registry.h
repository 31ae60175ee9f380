// The backends of this program.
//
// registry.cc is compiled once per program: test programs (TRITONTS_FAULTS) also have the
// fault-injecting backends. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// Returns the backend with this name, or null. Borrowed; backends are never destroyed.
Backend* FindBackend(const std::string& name);

// The names of all backends.
std::vector<std::string> BackendNames();

// Opens a backend's runtime without a model, with the settings that Backend::Load would get.
// Returns what Model::Info reports about the runtime: "library" and "version". Empty if the backend
// needs no runtime. Called on a loader thread.
StatusOr<std::map<std::string, std::string>> OpenRuntime(
    const std::string& name, const std::map<std::string, std::string>& settings);

}  // namespace tritonts

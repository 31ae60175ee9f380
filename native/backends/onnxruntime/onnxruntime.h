// The backend for ONNX models. It uses an ONNX Runtime library, which is opened at run time. A
// model's settings are described in settings.h.
#pragma once

#include <map>
#include <string>

#include "engine/backend.h"

namespace tritonts {

// The backend. It lives as long as the process. Any thread may call it.
Backend* OnnxRuntimeBackend();

// Opens the library that the settings name: its file and version as "library" and "version".
// UNAVAILABLE as of a load. Called on a loader thread.
StatusOr<std::map<std::string, std::string>> OpenOnnxRuntime(
    const std::map<std::string, std::string>& settings);

}  // namespace tritonts

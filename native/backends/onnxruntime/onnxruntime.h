// The backend for ONNX models. It uses an ONNX Runtime library, which is opened at run time. A
// model's settings are described in settings.h.
#pragma once

#include <map>
#include <string>

#include "engine/backend.h"

namespace tritonts {

// The process-wide backend. Thread-safe.
Backend* OnnxRuntimeBackend();

// Opens the library of the settings and returns "library" and "version". Fails with UNAVAILABLE
// like a load. Called on a loader thread.
StatusOr<std::map<std::string, std::string>> OpenOnnxRuntime(
    const std::map<std::string, std::string>& settings);

}  // namespace tritonts

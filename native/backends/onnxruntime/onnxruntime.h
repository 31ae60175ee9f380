// The backend for ONNX models, over an ONNX Runtime library that is opened at run time. What a
// model's settings mean stands in settings.h.
#pragma once

#include "engine/backend.h"

namespace tritonts {

// Lives as long as the process. Any thread.
Backend* OnnxRuntimeBackend();

}  // namespace tritonts

// The backend for ONNX models. It uses an ONNX Runtime library, which is opened at run time. A
// model's settings are described in settings.h.
#pragma once

#include "engine/backend.h"

namespace tritonts::onnxruntime {

// As in backends/find_backend.h.
Backend* MakeBackend();

}  // namespace tritonts::onnxruntime

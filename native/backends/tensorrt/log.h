// TensorRT's log, which alone tells the reasons of failures.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace tritonts::tensorrt {

// The logger to pass to a library. `named`: for version 11. The process has one logger of each
// kind, because a library keeps the first that it gets.
void* TheLogger(bool named);

// Makes the error for a failed `what`, with the errors logged on this thread since the last call.
Status Failure(Code code, const std::string& what, Reason reason = Reason::kNone);
// Discards the errors logged on this thread.
void ForgetLog();

}  // namespace tritonts::tensorrt

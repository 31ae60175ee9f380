// What TensorRT logs: it tells why something failed in its log only.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace tritonts::tensorrt {

// The logger to hand to a library. `named`: as version 11 wants it. The process has one of each
// kind, because a library keeps the first that it is given.
void* TheLogger(bool named);

// `what` has failed: says so, with what was logged on this thread since it was last asked.
Status Failure(Code code, const std::string& what, Reason reason = Reason::kNone);
// Forgets what was logged on this thread.
void ForgetLog();

}  // namespace tritonts::tensorrt

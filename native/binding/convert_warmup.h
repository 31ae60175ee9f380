// Reads warm-up samples from JavaScript. JS thread only.
#pragma once

#include <vector>

#include "engine/version/warmup.h"
#include "setup.h"

namespace tritonts {

// TypeScript has checked the value; a wrong type yields an empty list.
std::vector<WarmupSample> WarmupOf(const Napi::Value& value);

}  // namespace tritonts

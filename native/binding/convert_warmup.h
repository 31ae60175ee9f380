// Samples of a warm-up from JavaScript. JS thread only.
#pragma once

#include <vector>

#include "engine/version/warmup.h"
#include "setup.h"

namespace tritonts {

// What TypeScript checked already; a wrong type gives an empty value.
std::vector<WarmupSample> WarmupOf(const Napi::Value& value);

}  // namespace tritonts

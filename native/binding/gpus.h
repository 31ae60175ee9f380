// Reports GPUs to JavaScript. JS thread only, except LookForNvml. Nothing here calls the driver.
#pragma once

#include <string>

#include "setup.h"

namespace tritonts {

// NVIDIA's management library, or why it is unavailable.
struct FoundNvml {
  std::string path;
  std::string version;
  std::string driver_version;
  std::string reason;
};

// Opens the library. Not on a JS thread.
FoundNvml LookForNvml();

Napi::Value ToJs(Napi::Env env, const FoundNvml& found);

// Adds `gpus` and `gpuSamples` to the addon's exports.
void ExportGpus(Napi::Env env, Napi::Object exports);

}  // namespace tritonts

// The runtime's CUDA provider: libraries beside the runtime's own, which run a session on a GPU.
// Callers' tensors stay in host memory, and the provider copies them. Any thread may call these
// functions.
#pragma once

#include <string>
#include <vector>

#include "../../device/cuda.h"
#include "engine/base/status.h"
#include "library.h"
#include "settings.h"
#include "table.h"

namespace tritonts::onnxruntime {

// Checks that the provider's files lie beside the runtime's library file, the only place where the
// runtime looks. Otherwise returns UNAVAILABLE with the missing file, its folder and what helps.
Status FindCudaProvider(const std::string& library_path);

// Checks ids of devices. UNAVAILABLE: there is no GPU, and why. INVALID_ARG: an id does not exist;
// the message names those that do.
Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found);

// Lets sessions with these options run on GPU `device`. UNAVAILABLE, with the runtime's text: the
// provider cannot be loaded. INVALID_ARG: it refuses an option.
Status AppendCudaProvider(const Library& library, int device, const Settings& settings,
                          OrtSessionOptions* options);

}  // namespace tritonts::onnxruntime

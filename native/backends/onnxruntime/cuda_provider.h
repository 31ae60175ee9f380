// The runtime's CUDA provider: libraries that lie beside the runtime's own, and run a session on a
// GPU. Callers' tensors stay in host memory; the provider copies.
#pragma once

#include <string>
#include <vector>

#include "../../device/cuda.h"
#include "engine/base/status.h"
#include "library.h"
#include "settings.h"
#include "table.h"

namespace tritonts::onnxruntime {

// UNAVAILABLE, with the missing file, its folder and what helps, unless the provider's files lie
// beside the runtime's library file. The runtime looks nowhere else for them.
Status FindCudaProvider(const std::string& library_path);

// UNAVAILABLE with the reason where there is no GPU; INVALID_ARG, with the ids that there are, for
// one that is not.
Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found);

// Lets sessions of these options run on GPU `device`. UNAVAILABLE with the runtime's text where the
// provider can't be loaded, INVALID_ARG for an option that it does not take.
Status AppendCudaProvider(const Library& library, int device, const Settings& settings,
                          OrtSessionOptions* options);

}  // namespace tritonts::onnxruntime

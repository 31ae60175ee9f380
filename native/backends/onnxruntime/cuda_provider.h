// The runtime's CUDA and TensorRT providers: libraries beside the runtime's own, which run a
// session on a GPU. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "../../device/cuda.h"
#include "engine/base/status.h"
#include "gpu_place.h"
#include "library.h"
#include "settings.h"
#include "table.h"

namespace tritonts::onnxruntime {

// Checks that the provider's files lie beside the runtime's library file, the only place where the
// runtime looks. Otherwise returns UNAVAILABLE with the missing file, its folder and what helps.
// `tensorrt`: those of the TensorRT provider, too.
Status FindCudaProvider(const std::string& library_path, bool tensorrt = false);

// Checks ids of devices. UNAVAILABLE: there is no GPU, and why. INVALID_ARG: an id does not exist;
// the message names those that do.
Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found);

// Lets sessions with these options run at this place: what TensorRT can compute there, if the
// settings say so, and the rest with CUDA. UNAVAILABLE, with the runtime's text: a provider cannot
// be loaded. INVALID_ARG: it refuses an option.
Status AppendGpuProviders(const Library& library, const GpuPlace& place, const Settings& settings,
                          OrtSessionOptions* options);

}  // namespace tritonts::onnxruntime

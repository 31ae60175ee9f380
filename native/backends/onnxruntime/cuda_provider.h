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

// Checks that the provider's files lie next to the runtime's library file, the only place where the
// runtime looks. Otherwise returns UNAVAILABLE with the missing file, its folder and advice.
// `tensorrt`: also the files of the TensorRT provider.
Status FindCudaProvider(const std::string& library_path, bool tensorrt = false);

// Checks device ids. UNAVAILABLE, with the reason, if there is no GPU. INVALID_ARG if an id does
// not exist; the message lists the existing ids.
Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found);

// Configures sessions with these options to run at this place: with TensorRT where it can and the
// settings enable it, otherwise with CUDA. UNAVAILABLE, with the runtime's text, if a provider
// cannot be loaded. INVALID_ARG if it rejects an option.
Status AppendGpuProviders(const Library& library, const GpuPlace& place, const Settings& settings,
                          OrtSessionOptions* options);

}  // namespace tritonts::onnxruntime

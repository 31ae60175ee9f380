// The GPUs of this machine, as NVIDIA's driver reports them. The driver is opened while the process
// runs, so neither building nor starting needs CUDA.
#pragma once

#include <string>
#include <vector>

namespace tritonts::device {

struct CudaDevices {
  std::vector<std::string> names;  // by id
  std::string reason;              // if there is none: why, and what helps; else ""
};

// The devices that this process may use; CUDA_VISIBLE_DEVICES counts. The first call initialises
// the driver, which takes tenths of a second; later ones return the same result. Any thread may
// call it.
const CudaDevices& FindCudaDevices();

// Asks the driver in the library `file`, a path or a name that the system looks up. Any thread may
// call it.
CudaDevices AskCudaDriver(const std::string& file);

}  // namespace tritonts::device

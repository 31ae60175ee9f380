// The GPUs of this machine, as NVIDIA's driver tells them. The driver is opened while the process
// runs, so that nothing of CUDA is needed to build, nor to start where there is none.
#pragma once

#include <string>
#include <vector>

namespace tritonts::device {

struct CudaDevices {
  std::vector<std::string> names;  // by id
  std::string reason;              // why there is none, and what helps; "" where there are some
};

// The devices that this process may use (CUDA_VISIBLE_DEVICES counts). Asked once in the life of
// the process; that call initialises the driver, which takes tenths of a second. Any thread.
const CudaDevices& FindCudaDevices();

// Asks the driver whose library is `file`, a path or a name that the system knows. Any thread.
CudaDevices AskCudaDriver(const std::string& file);

}  // namespace tritonts::device

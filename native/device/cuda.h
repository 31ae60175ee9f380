// The GPUs of this machine, as NVIDIA's driver reports them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver.h"

namespace tritonts::device {

struct CudaDevice {
  std::string name;
  std::string uuid;  // as nvidia-smi writes it: "GPU-" and hexadecimal digits
  uint64_t memory_bytes = 0;
  int major = 0;  // the compute capability is major.minor
  int minor = 0;
  // Why it cannot be used although the driver lists it; "": it can. The rest may be empty then.
  std::string fault = {};
};

struct CudaDevices {
  std::vector<CudaDevice> devices;                 // by id
  std::string reason;                              // if there is none: why, and what helps; else ""
  std::shared_ptr<const Driver> driver = nullptr;  // null: there is none, or it has no GPU to offer
};

// Asks the driver in the library `file`, a path or a name that the system looks up, for the devices
// that this process may use; CUDA_VISIBLE_DEVICES counts. Any thread but a JS thread may call it.
CudaDevices AskCudaDriver(const std::string& file);

// Asks the system's driver. The first call takes tenths of a second, later ones return the same
// result. Any thread but a JS thread may call it.
const CudaDevices& FindCudaDevices();

// What FindCudaDevices has found; null: it has not returned yet. Any thread may call it.
const CudaDevices* KnownCudaDevices();

}  // namespace tritonts::device

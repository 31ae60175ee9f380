// The GPUs of this machine, as NVIDIA's driver reports them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver.h"

namespace tritonts::device {

struct CudaDevice {
  std::string name;
  std::string uuid;  // as nvidia-smi prints it: "GPU-" and hexadecimal digits
  uint64_t memory_bytes = 0;
  int major = 0;  // the compute capability is major.minor
  int minor = 0;
  // Why the device is unusable although the driver lists it; "": usable. Otherwise other fields may
  // be empty.
  std::string fault = {};
};

struct CudaDevices {
  std::vector<CudaDevice> devices;  // by id
  std::string reason;               // if there is no device: the reason and advice; else ""
  std::shared_ptr<const Driver> driver = nullptr;  // null: there is no driver, or it offers no GPU
};

// Asks the driver in the library `file`, a path or a name that the system resolves, for the devices
// that this process may use; CUDA_VISIBLE_DEVICES counts. Not for JS threads.
CudaDevices AskCudaDriver(const std::string& file);

// Asks the system's driver. The first call takes tenths of a second; later calls return the same
// result. Not for JS threads.
const CudaDevices& FindCudaDevices();

// The result of FindCudaDevices; null until it has returned. Thread-safe.
const CudaDevices* KnownCudaDevices();

}  // namespace tritonts::device

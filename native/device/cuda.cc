#include "cuda.h"

#include <utility>

#include "../platform/dynamic_library.h"
#include "engine/base/exit.h"

namespace tritonts::device {

namespace {

#if defined(_WIN32)
constexpr char kDriverFile[] = "nvcuda.dll";
#else
constexpr char kDriverFile[] = "libcuda.so.1";
#endif

// The driver's functions return a number, 0 for success.
using InitFunction = int (*)(unsigned flags);
using CountFunction = int (*)(int* count);
using DeviceFunction = int (*)(int* device, int id);
using NameFunction = int (*)(char* name, int size, int device);
using ErrorFunction = int (*)(int result, const char** text);

CudaDevices None(std::string reason) {
  return {{}, std::move(reason)};
}

// A message such as "cuInit failed with 100 (no CUDA-capable device is detected)".
std::string Failure(ErrorFunction get_error, const char* function, int result) {
  std::string text = std::string(function) + " failed with " + std::to_string(result);
  const char* words = nullptr;
  if (get_error && get_error(result, &words) == 0 && words) text += std::string(" (") + words + ")";
  return text;
}

}  // namespace

CudaDevices AskCudaDriver(const std::string& file) {
  auto driver = platform::DynamicLibrary::Open(file);
  if (!driver.ok()) {
    return None("the CUDA driver " + file + " can't be opened (" + driver.status().message() +
                "): it comes with NVIDIA's driver for the GPU");
  }
  const auto symbol = [&](const char* name) { return driver.value().Symbol(name); };
  const auto init = reinterpret_cast<InitFunction>(symbol("cuInit"));
  const auto get_count = reinterpret_cast<CountFunction>(symbol("cuDeviceGetCount"));
  const auto get_device = reinterpret_cast<DeviceFunction>(symbol("cuDeviceGet"));
  const auto get_name = reinterpret_cast<NameFunction>(symbol("cuDeviceGetName"));
  const auto get_error = reinterpret_cast<ErrorFunction>(symbol("cuGetErrorString"));
  if (!init || !get_count || !get_device || !get_name) {
    return None(file + " is a library, but not the CUDA driver");
  }

  int result = init(0);
  if (result != 0) {
    return None("the CUDA driver " + file +
                " finds no usable GPU: " + Failure(get_error, "cuInit", result));
  }
  int count = 0;
  result = get_count(&count);
  if (result != 0) {
    return None("the CUDA driver " + file +
                " can't count the GPUs: " + Failure(get_error, "cuDeviceGetCount", result));
  }
  if (count <= 0) {
    return None("the CUDA driver " + file +
                " offers no GPU (CUDA_VISIBLE_DEVICES may hide what is there)");
  }
  CudaDevices devices;
  for (int id = 0; id < count; id++) {
    int device = 0;
    char name[256] = "";
    const bool named =
        get_device(&device, id) == 0 && get_name(name, static_cast<int>(sizeof(name)), device) == 0;
    devices.names.emplace_back(named ? name : "unnamed GPU");
  }
  return devices;
}

const CudaDevices& FindCudaDevices() {
  // It is never destroyed, as the driver is never closed.
  static const auto* const devices = [] {
    auto* found = new CudaDevices(AskCudaDriver(kDriverFile));
    if (!found->names.empty()) OnRuntimeLibraryOpened();
    return found;
  }();
  return *devices;
}

}  // namespace tritonts::device

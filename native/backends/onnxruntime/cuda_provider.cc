#include "cuda_provider.h"

#include <filesystem>

#include "../../platform/dynamic_library.h"

namespace tritonts::onnxruntime {

namespace {

#if defined(_WIN32)
constexpr const char* kProviderFiles[] = {"onnxruntime_providers_cuda.dll",
                                          "onnxruntime_providers_shared.dll"};
#else
constexpr const char* kProviderFiles[] = {"libonnxruntime_providers_cuda.so",
                                          "libonnxruntime_providers_shared.so"};
#endif

constexpr char kOnTheCpu[] = "; instanceKind: 'cpu' runs the model on the CPU";

std::string NameOf(int device) {
  return "GPU " + std::to_string(device);
}

}  // namespace

Status FindCudaProvider(const std::string& library_path) {
  const auto folder = platform::NativePath(library_path).parent_path();
  for (const char* file : kProviderFiles) {
    std::error_code error;
    if (std::filesystem::exists(folder / file, error)) continue;
    return Status::Unavailable(
        "an instance on a GPU needs ONNX Runtime's CUDA provider, but there is no " +
        std::string(file) + " in '" + platform::Utf8(folder) +
        "', the folder of the ONNX Runtime library: install a GPU build of ONNX Runtime and name "
        "its library with backendConfig.onnxruntime.library" +
        kOnTheCpu);
  }
  return Status::Ok();
}

Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found) {
  const int count = static_cast<int>(found.devices.size());
  if (count == 0) {
    return Status::Unavailable("an instance on a GPU needs one: " + found.reason + kOnTheCpu);
  }
  for (const int device : devices) {
    if (device < count) {
      const std::string& fault =
          device >= 0 ? found.devices[static_cast<size_t>(device)].fault : std::string();
      if (fault.empty()) continue;
      return Status::Unavailable(NameOf(device) + " can't be used: " + fault + kOnTheCpu);
    }
    std::string available = "0";
    for (int id = 1; id < count; id++) available += ", " + std::to_string(id);
    return Status::InvalidArg("there is no " + NameOf(device) + "; available are " + available);
  }
  return Status::Ok();
}

Status AppendCudaProvider(const Library& library, int device, const Settings& settings,
                          OrtSessionOptions* options) {
  const Table& table = library.table();
  const auto unavailable = [&](const Status& status) {
    return Status::Unavailable("ONNX Runtime's CUDA provider can't be used on " + NameOf(device) +
                               ": " + status.message() + kOnTheCpu);
  };
  Handle<OrtCudaProviderOptions, kReleaseCudaProviderOptions> cuda(table);
  Status status = library.Take(table.Call(kCreateCudaProviderOptions, cuda.out()));
  if (!status.ok()) return unavailable(status);

  const std::string id = std::to_string(device);
  std::vector<const char*> keys = {"device_id"};
  std::vector<const char*> values = {id.c_str()};
  const auto update = [&] {
    return library.Take(table.Call(kUpdateCudaProviderOptions, cuda.get(), keys.data(),
                                   values.data(), keys.size()));
  };
  // This first call has no options of the model. So if it fails, the provider cannot be loaded: the
  // call opens it, with the libraries of CUDA and cuDNN.
  status = update();
  if (!status.ok()) return unavailable(status);
  if (!settings.cuda.empty()) {
    for (const auto& [key, value] : settings.cuda) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    // All options go into one call, because a call resets options that it does not name.
    status = update();
    if (!status.ok()) {
      return Status::InvalidArg("the CUDA provider refuses an option: " + status.message());
    }
  }
  status = library.Take(table.Call(kAppendCudaProvider, options, cuda.get()));
  return status.ok() ? status : unavailable(status);
}

}  // namespace tritonts::onnxruntime

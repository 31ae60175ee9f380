#include "cuda_provider.h"

#include <filesystem>
#include <utility>

#include "../../platform/dynamic_library.h"
#include "../../platform/system.h"

namespace tritonts::onnxruntime {

namespace {

// The name of a provider's library, whose names differ between systems only in what is around.
std::string FileOf(const std::string& provider) {
  const std::string name = "onnxruntime_providers_" + provider;
  return platform::kWindows ? name + ".dll" : "lib" + name + ".so";
}

constexpr char kOnTheCpu[] = "; instanceKind: 'cpu' runs the model on the CPU";

std::string NameOf(int device) {
  return "GPU " + std::to_string(device);
}

Status Missing(const char* provider, const std::string& file, const std::filesystem::path& folder) {
  return Status::Unavailable(
      Reason::kMissing,
      std::string("an instance on a GPU needs ONNX Runtime's ") + provider +
          " provider, but there is no " + file + " in '" + platform::Utf8(folder) +
          "', the folder of the ONNX Runtime library: install a GPU build of ONNX Runtime "
          "(onnxruntime-gpu of PyPI or Microsoft.ML.OnnxRuntime.Gpu of NuGet) and name its library "
          "with "
          "backendConfig.onnxruntime.library" +
          kOnTheCpu);
}

// The table entries of a provider.
struct Cuda {
  static constexpr char kName[] = "CUDA";
  using Options = OrtCudaProviderOptions;
  static constexpr auto kCreate = kCreateCudaProviderOptions;
  static constexpr auto kUpdate = kUpdateCudaProviderOptions;
  static constexpr auto kUpdatePointer = kUpdateCudaProviderPointer;
  static constexpr auto kRelease = kReleaseCudaProviderOptions;
  static constexpr auto kAppend = kAppendCudaProvider;
};
struct TensorRt {
  static constexpr char kName[] = "TensorRT";
  using Options = OrtTensorRtProviderOptions;
  static constexpr auto kCreate = kCreateTensorRtProviderOptions;
  static constexpr auto kUpdate = kUpdateTensorRtProviderOptions;
  static constexpr auto kUpdatePointer = kUpdateTensorRtProviderPointer;
  static constexpr auto kRelease = kReleaseTensorRtProviderOptions;
  static constexpr auto kAppend = kAppendTensorRtProvider;
};

using Options = std::vector<std::pair<std::string, std::string>>;

template <typename Provider>
Status Append(const Library& library, const GpuPlace& place, const Options& wanted,
              OrtSessionOptions* options) {
  const Table& table = library.table();
  const auto unavailable = [&](const Status& status) {
    return Status::Unavailable(Reason::kMissing, std::string("ONNX Runtime's ") + Provider::kName +
                                                     " provider can't be used on " +
                                                     NameOf(place.gpu()->id()) + ": " +
                                                     status.message() + kOnTheCpu);
  };
  Handle<typename Provider::Options, Provider::kRelease> provider(table);
  Status status = library.Take(table.Call(Provider::kCreate, provider.out()));
  if (!status.ok()) return unavailable(status);

  const std::string id = std::to_string(place.gpu()->id());
  std::vector<const char*> keys = {"device_id"};
  std::vector<const char*> values = {id.c_str()};
  const auto update = [&] {
    return library.Take(
        table.Call(Provider::kUpdate, provider.get(), keys.data(), values.data(), keys.size()));
  };
  // This first call has no options of the model. If it fails, the provider or its libraries cannot
  // be loaded.
  status = update();
  if (!status.ok()) return unavailable(status);
  if (!wanted.empty()) {
    for (const auto& [key, value] : wanted) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    // All options go into one call, because each call resets options that it does not name.
    status = update();
    if (!status.ok()) {
      return Status::InvalidArg(std::string("the ") + Provider::kName +
                                " provider refuses an option: " + status.message());
    }
  }
  // Set the stream last, because the calls above would reset it.
  status = library.Take(
      table.Call(Provider::kUpdatePointer, provider.get(), "user_compute_stream", place.stream()));
  if (status.ok()) status = library.Take(table.Call(Provider::kAppend, options, provider.get()));
  return status.ok() ? status : unavailable(status);
}

}  // namespace

Status FindCudaProvider(const std::string& library_path, bool tensorrt) {
  const auto folder = platform::NativePath(library_path).parent_path();
  std::error_code error;
  for (const char* provider : {"cuda", "shared"}) {
    const std::string file = FileOf(provider);
    if (!std::filesystem::exists(folder / file, error)) return Missing("CUDA", file, folder);
  }
  const std::string file = FileOf("tensorrt");
  if (tensorrt && !std::filesystem::exists(folder / file, error))
    return Missing("TensorRT", file, folder);
  return Status::Ok();
}

Status CheckDevices(const std::vector<int>& devices, const device::CudaDevices& found) {
  const int count = static_cast<int>(found.devices.size());
  if (count == 0) {
    return Status::Unavailable(Reason::kMissing,
                               "an instance on a GPU needs one: " + found.reason + kOnTheCpu);
  }
  for (const int device : devices) {
    if (device < count) {
      const std::string& fault =
          device >= 0 ? found.devices[static_cast<size_t>(device)].fault : std::string();
      if (fault.empty()) continue;
      return Status::Unavailable(Reason::kMissing,
                                 NameOf(device) + " can't be used: " + fault + kOnTheCpu);
    }
    std::string available = "0";
    for (int id = 1; id < count; id++) available += ", " + std::to_string(id);
    return Status::InvalidArg("there is no " + NameOf(device) + "; available are " + available);
  }
  return Status::Ok();
}

Status AppendGpuProviders(const Library& library, const GpuPlace& place, const Settings& settings,
                          OrtSessionOptions* options) {
  if (settings.use_tensorrt) {
    Status status = Append<TensorRt>(library, place, settings.tensorrt, options);
    if (!status.ok()) return status;
  }
  return Append<Cuda>(library, place, settings.cuda, options);
}

}  // namespace tritonts::onnxruntime

// The backend for TensorRT plans: checks the settings, and opens the plans on the GPUs of the
// instances.
#include <fstream>
#include <iterator>
#include <utility>

#include "../../device/cuda.h"
#include "../../platform/dynamic_library.h"
#include "../gpu/device_files.h"
#include "model.h"
#include "tensorrt.h"

namespace tritonts {

namespace {

StatusOr<std::string> BytesOf(const ModelSpec& spec, const std::string& path) {
  if (!spec.files.empty()) {
    const auto file = spec.files.find(path);
    if (file == spec.files.end())
      return Status::NotFound("the file '" + path +
                              "' is not among the given files: pass its bytes with the others");
    return *file->second;
  }
  std::ifstream file(platform::NativePath(path), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open())
    return Status::Unavailable(Reason::kMissing, path + " can't be read");
  return bytes;
}

// Adds the file's name to the error if the GPUs use different files.
Status AboutFile(const std::vector<int>& devices, const ModelSpec& spec, int device,
                 const Status& status) {
  const std::string& path = PathOf(spec, device);
  for (const int other : devices)
    if (PathOf(spec, other) != path)
      return status.With("'" + path + "', for GPU " + std::to_string(device) + ": " +
                         status.message());
  return status;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> TensorRtBackend::Load(const ModelSpec& spec) {
  using namespace tensorrt;
  auto settings = ReadSettings(spec);
  if (!settings.ok()) return settings.status();
  // Check the driver first: the library must not be called without one.
  const device::CudaDevices& found = device::FindCudaDevices();
  if (found.devices.empty())
    return Status::Unavailable(Reason::kMissing, "there is no GPU: " + found.reason);
  auto opened = Library::Open(settings.value().library);
  if (!opened.ok()) return opened.status();
  const Library& library = *opened.value();
  Status status = library.AddPlugins(settings.value().plugins);
  if (!status.ok()) return status;
  const std::vector<int>& devices = settings.value().devices;
  std::vector<std::shared_ptr<const Engine>> engines;
  DescribedFiles files(spec);
  std::string read, plan;
  for (const int id : devices) {
    const std::string& path = PathOf(spec, id);
    if (path != read || engines.empty()) {
      auto bytes = BytesOf(spec, path);
      if (!bytes.ok()) return bytes.status();
      plan = bytes.take();
      read = path;
    }
    auto gpu = device::Gpu::Open(found.driver, id);
    if (!gpu.ok()) return gpu.status();
    if (Status fault = gpu.value()->fault(); !fault.ok()) return fault;
    auto engine = Engine::Read(
        &library, gpu.take(),
        {path, plan, settings.value().version_compatible, settings.value().lean_runtime});
    if (!engine.ok()) return AboutFile(devices, spec, id, engine.status());
    engines.push_back(engine.take());
    if (files.Has(path)) continue;
    status = files.Add(path, TensorRtModel::DescriptionOf(*engines.back(), settings.value()));
    if (!status.ok()) return status;
  }
  return std::unique_ptr<Model>(std::make_unique<TensorRtModel>(
      settings.take(), &library, std::move(engines), std::move(files)));
}

StatusOr<std::map<std::string, std::string>> TensorRtBackend::OpenRuntime(
    const std::map<std::string, std::string>& settings) {
  const auto file = settings.find("library");
  auto library = tensorrt::Library::Open(file == settings.end() ? "" : file->second);
  if (!library.ok()) return library.status();
  return std::map<std::string, std::string>{{"library", library.value()->path()},
                                            {"version", library.value()->version().text}};
}

Backend* tensorrt::MakeBackend() {
  return new TensorRtBackend();
}

}  // namespace tritonts

#include "tensorrt.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "../../device/cuda.h"
#include "../../platform/dynamic_library.h"
#include "model.h"

namespace tritonts {

namespace {

StatusOr<std::string> BytesOf(const ModelSpec& spec) {
  if (!spec.files.empty()) {
    const auto file = spec.files.find(spec.path);
    if (file == spec.files.end()) return Status::NotFound("there is no " + spec.path);
    return *file->second;
  }
  std::ifstream file(platform::NativePath(spec.path), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) return Status::Unavailable(spec.path + " can't be read");
  return bytes;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> TensorRtBackend::Load(const ModelSpec& spec) {
  using namespace tensorrt;
  auto settings = ReadSettings(spec);
  if (!settings.ok()) return settings.status();
  // The driver first: without it the library must not be called.
  const device::CudaDevices& found = device::FindCudaDevices();
  if (found.devices.empty()) return Status::Unavailable("there is no GPU: " + found.reason);
  auto opened = Library::Open(settings.value().library);
  if (!opened.ok()) return opened.status();
  const Library& library = *opened.value();
  Status status = library.AddPlugins(settings.value().plugins);
  if (!status.ok()) return status;
  auto plan = BytesOf(spec);
  if (!plan.ok()) return plan.status();
  std::vector<std::shared_ptr<const Engine>> engines;
  for (const int id : settings.value().devices) {
    auto gpu = device::Gpu::Open(found.driver, id);
    if (!gpu.ok()) return gpu.status();
    if (Status fault = gpu.value()->fault(); !fault.ok()) return fault;
    auto engine =
        Engine::Read(&library, gpu.take(), plan.value(), settings.value().version_compatible);
    if (!engine.ok()) return engine.status();
    engines.push_back(engine.take());
  }
  return std::unique_ptr<Model>(
      std::make_unique<TensorRtModel>(settings.take(), &library, std::move(engines)));
}

StatusOr<std::map<std::string, std::string>> OpenTensorRt(
    const std::map<std::string, std::string>& settings) {
  const auto file = settings.find("library");
  auto library = tensorrt::Library::Open(file == settings.end() ? "" : file->second);
  if (!library.ok()) return library.status();
  return std::map<std::string, std::string>{{"library", library.value()->path()},
                                            {"version", library.value()->version().text}};
}

}  // namespace tritonts

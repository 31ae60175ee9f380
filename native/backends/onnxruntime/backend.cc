// The backend for ONNX models: opens ONNX Runtime's library, and opens models with it.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "../../platform/dynamic_library.h"
#include "../gpu/device_files.h"
#include "cuda_provider.h"
#include "describe.h"
#include "engine/base/exit.h"
#include "graph_scan.h"
#include "library.h"
#include "model.h"
#include "onnxruntime.h"
#include "session.h"
#include "settings.h"

namespace tritonts {

namespace onnxruntime {

namespace {

// Checks that the libraries and devices for all GPUs of the settings exist.
Status CheckGpus(const Library& library, const Settings& settings) {
  const std::vector<int>& devices = settings.devices;
  if (std::all_of(devices.begin(), devices.end(), [](int device) { return device == kCpu; })) {
    return Status::Ok();
  }
  if (Status status = FindCudaProvider(library.path(), settings.use_tensorrt); !status.ok())
    return status;
  return CheckDevices(devices, device::FindCudaDevices());
}

// Opens a library that this backend does not use, once per process. A failure does not matter.
void OpenFirst(const std::string& path) {
  static std::once_flag once;
  std::call_once(once, [&] {
    if (platform::DynamicLibrary::Open(path)) OnRuntimeLibraryOpened();
  });
}

StatusOr<Library*> OpenLibrary(const Settings& settings) {
  if (!settings.open_first.empty()) OpenFirst(settings.open_first);
  return Library::Open(settings.library);
}

// The facts that follow from a loaded model's operators.
GraphFacts FactsOf(const ModelSpec& spec, const Settings& settings) {
  if (!settings.custom_op_libraries.empty()) {
    return UnknownGraph("the model has operators of libraries of its own (op_library_filename)");
  }
  if (spec.files.empty()) return ScanGraph(ModelFile(spec.path));
  const auto file = spec.files.find(spec.path);
  return ScanGraph(file == spec.files.end() ? std::string_view() : std::string_view(*file->second));
}

class OnnxBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    auto settings = ReadSettings(spec.settings);
    if (!settings.ok()) return settings.status();
    auto library = OpenLibrary(settings.value());
    if (!library.ok()) return library.status();
    const std::vector<int>& devices = settings.value().devices;
    if (Status status = CheckGpus(*library.value(), settings.value()); !status.ok()) return status;
    std::vector<std::shared_ptr<Session>> sessions;
    DescribedFiles files(spec);
    std::string time_varies;
    for (const int device : devices) {
      const ModelSpec own = SpecOf(spec, device);
      auto session = Session::Create(library.value(), own, settings.value(), device);
      if (!session.ok()) return session.status();
      sessions.push_back(session.take());
      if (files.Has(own.path)) continue;
      auto description = DescribeSession(*sessions.back(), own);
      if (!description.ok()) return description.status();
      GraphFacts facts = FactsOf(own, settings.value());
      description.value().rows_vary = std::move(facts.rows_vary);
      if (time_varies.empty()) time_varies = std::move(facts.time_varies);
      if (Status status = files.Add(own.path, description.take()); !status.ok()) return status;
    }
    return std::unique_ptr<Model>(std::make_unique<OnnxModel>(
        spec.name, std::move(sessions), std::move(files), std::move(time_varies)));
  }

  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override {
    auto read = ReadSettings(settings);
    if (!read.ok()) return read.status();
    auto library = OpenLibrary(read.value());
    if (!library.ok()) return library.status();
    return std::map<std::string, std::string>{{"library", library.value()->path()},
                                              {"version", library.value()->version()}};
  }

  // A run calls no JavaScript, and waits only for the runtime's threads.
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace

Backend* MakeBackend() {
  return new OnnxBackend();
}

}  // namespace onnxruntime

}  // namespace tritonts

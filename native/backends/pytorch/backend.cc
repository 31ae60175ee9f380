// The backend for models in TorchScript. libtorch is the user's, and so is the shim that makes a C
// interface of it.
#include "engine/backend.h"

#include "model.h"

namespace tritonts {

namespace pytorch {

namespace {

class PyTorchBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    return TorchScriptModel::Load(spec);
  }

  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override {
    auto read = ReadSettings(settings);
    if (!read.ok()) return read.status();
    auto library = Library::Open(read.value());
    if (!library.ok()) return library.status();
    return std::map<std::string, std::string>{{"library", library.value()->path()},
                                              {"version", library.value()->version()}};
  }

  // A run calls no JavaScript, and waits only for the runtime's threads.
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace

Backend* MakeBackend() {
  return new PyTorchBackend();
}

}  // namespace pytorch

}  // namespace tritonts

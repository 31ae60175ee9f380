// The backend for models of TensorFlow: SavedModel and GraphDef. Its library is the user's.
#include "engine/backend.h"

#include "model.h"

namespace tritonts {

namespace tensorflow {

namespace {

class TensorFlowBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    return TensorFlowModel::Load(spec);
  }

  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override {
    auto read = ReadSettings(settings);
    if (!read.ok()) return read.status();
    auto library = Library::Open(read.value().library);
    if (!library.ok()) return library.status();
    return std::map<std::string, std::string>{{"library", library.value()->path()},
                                              {"version", library.value()->version()}};
  }

  // A run calls no JavaScript, and waits only for the runtime's threads.
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace

Backend* MakeBackend() {
  return new TensorFlowBackend();
}

}  // namespace tensorflow

}  // namespace tritonts

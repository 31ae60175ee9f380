// The backend for ensembles of decision trees: files of XGBoost, LightGBM and Treelite. It needs no
// library, because it evaluates the trees itself.
#include "engine/backend.h"

#include "model.h"

namespace tritonts {

namespace fil {

namespace {

class ForestBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    return ForestModel::Load(spec);
  }
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace

Backend* MakeBackend() {
  return new ForestBackend();
}

}  // namespace fil

}  // namespace tritonts

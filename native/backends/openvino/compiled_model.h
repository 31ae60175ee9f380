// A model that was compiled for a device. All instances of a version share it.
#pragma once

#include <memory>
#include <string>

#include "library.h"
#include "plan.h"

namespace tritonts::openvino {

// Immutable, so any thread may use it. Infer requests may not outlive it.
class CompiledModel {
 public:
  // `core`: null, or the core of this model alone.
  CompiledModel(const Library& library, std::shared_ptr<const Plan> plan,
                std::shared_ptr<const Core> core, Compiled compiled)
      : library_(library),
        plan_(std::move(plan)),
        core_(std::move(core)),
        compiled_(std::move(compiled)) {}

  const Library& library() const { return library_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  const OvCompiled* get() const { return compiled_.get(); }
  // A property, in the library's words; "": it has none.
  std::string Property(const char* key) const {
    char* text = nullptr;
    if (library_.table().compiled_model_get_property(get(), key, &text) != kOvOk || !text) {
      return "";
    }
    const std::string value = text;
    library_.table().free(text);
    return value;
  }

 private:
  const Library& library_;
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const Core> core_;
  const Compiled compiled_;
};

}  // namespace tritonts::openvino

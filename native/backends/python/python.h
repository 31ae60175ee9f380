// The backend for Python models. Batches wait in inboxes, as those of JavaScript models do
// (backends/javascript/). A channel passes them to the process that runs the model (channel.h).
// Settings of Load: `inboxes`, as for JavaScript.
#pragma once

#include <memory>

#include "engine/backend.h"

namespace tritonts {

// Thread-safe.
class PythonBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return false; }
};

}  // namespace tritonts

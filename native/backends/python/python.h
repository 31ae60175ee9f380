// Models in Python. Their batches wait in inboxes as those of models in JavaScript do
// (backends/javascript/), and a channel takes them from there to the process that runs the model
// (channel.h). Settings of Load: `inboxes`, as there.
#pragma once

#include <memory>

#include "engine/backend.h"

namespace tritonts {

// Any thread may call any function.
class PythonBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return false; }
};

}  // namespace tritonts

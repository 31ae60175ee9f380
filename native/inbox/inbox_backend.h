// The engine's side of models that run on threads of their own or in processes: instances that pass
// each batch to an inbox, from which its environment takes it.
//
// Settings of Load: `inboxes`, the number that ReservedInboxes::Reserve returned. `library`,
// `version` and `intra_op_threads`, if the environment has such a runtime, are what Model::Info
// tells.
#pragma once

#include <memory>

#include "engine/backend.h"

namespace tritonts {

// Thread-safe.
class InboxBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return false; }
};

}  // namespace tritonts

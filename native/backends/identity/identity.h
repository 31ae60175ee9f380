// A backend that returns its inputs: output i is input i. It serves tests, and measurements of what
// everything around a model costs.
//
// Settings, named as Triton's identity backend names its parameters:
//   execute_delay_ms                 how long a batch takes (0)
// instance_wise_delay_multiplier instance i takes max(1, i) times as long, times this (0: off) It
// needs no model file.
#pragma once

#include "engine/backend.h"

namespace tritonts {

class IdentityBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace tritonts

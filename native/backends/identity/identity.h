// A backend that returns its inputs: output i is input i. Tests use it, and benchmarks that measure
// the server's overhead. It needs no model file.
//
// It reads the parameters of Triton's identity backend from the configuration:
//   execute_delay_ms                 duration of a batch (0)
//   instance_wise_delay_multiplier   the delay of instance i is multiplied by max(1, i) and by this
//                                    value (0: off)
#pragma once

#include "engine/backend.h"

namespace tritonts {

class IdentityBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

namespace identity {
// As in backends/find_backend.h.
Backend* MakeBackend();
}  // namespace identity

}  // namespace tritonts

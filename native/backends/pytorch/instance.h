// An instance of a model: it runs a batch at a time on its own thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/backend.h"
#include "inputs.h"
#include "library.h"
#include "outputs.h"
#include "plan.h"
#include "thread_choice.h"

namespace tritonts::pytorch {

// Blocking. Terminate is thread-safe.
class TorchScriptInstance final : public Instance {
 public:
  TorchScriptInstance(Library& library, std::shared_ptr<const Module> module,
                      std::shared_ptr<const Plan> plan, int32_t flags, bool has_cores);

  void Execute(Run& run) override;
  // A run under way cannot be ended.
  void Terminate() override { terminated_ = true; }

 private:
  Status RunBatch(Run& run);
  Status Forward();

  Library& library_;
  const std::shared_ptr<const Module> module_;
  const std::shared_ptr<const Plan> plan_;
  const int32_t flags_;
  BatchInputs inputs_;
  BatchOutputs outputs_;
  const bool has_cores_;  // more than one
  ThreadChoice threads_;
  std::atomic<bool> terminated_{false};
};

}  // namespace tritonts::pytorch

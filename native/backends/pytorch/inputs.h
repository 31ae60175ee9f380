// The inputs of a batch, as arguments of forward.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "plan.h"
#include "shim/shim.h"

namespace tritonts::pytorch {

// Belongs to an instance, and is used by one thread at a time. Its vectors stay allocated between
// batches.
class BatchInputs {
 public:
  explicit BatchInputs(std::shared_ptr<const Plan> plan);

  // Gathers all inputs. Throws std::bad_alloc.
  Status Gather(Run& run);
  // The inputs in the order of the arguments. The caller must pass them to the library, which then
  // owns what they own.
  std::span<TorchInput> Take();
  // Gives the memory of the batch back.
  void Release();

 private:
  struct Input {
    Gathered gathered;
    std::vector<TorchText> texts;
  };

  Status GatherOne(Run& run, uint32_t index);
  // Makes sure that the bytes may be given to the model.
  Status Protect(Run& run, const InputPlan& plan, Input* input);
  // Copies the bytes to memory of the batch alone, unless they are there.
  Status MakeOwn(Run& run, Input* input);

  const std::shared_ptr<const Plan> plan_;
  std::vector<Input> inputs_;
  std::vector<TorchInput> arguments_;
};

}  // namespace tritonts::pytorch

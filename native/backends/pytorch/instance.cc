#include "instance.h"

#include <utility>

#include "../common/faults.h"
#include "engine/base/clock.h"

namespace tritonts::pytorch {

TorchScriptInstance::TorchScriptInstance(Library& library, std::shared_ptr<const Module> module,
                                         std::shared_ptr<const Plan> plan, int32_t flags,
                                         bool has_cores)
    : library_(library),
      module_(std::move(module)),
      plan_(std::move(plan)),
      flags_(flags),
      inputs_(plan_),
      outputs_(library_, plan_),
      has_cores_(has_cores) {}

void TorchScriptInstance::Execute(Run& run) {
  // The result may refer to memory of the inputs, and responses to memory of the result.
  struct Releaser {
    BatchInputs* inputs;
    BatchOutputs* outputs;
    ~Releaser() {
      outputs->Release();
      inputs->Release();
    }
  } const releaser{&inputs_, &outputs_};
  outputs_.Respond(run, RunBatch(run));
}

Status TorchScriptInstance::RunBatch(Run& run) {
  if (terminated_) return Status::Cancelled("the run was asked to end");
  Status status = inputs_.Gather(run);
  if (!status.ok()) return status;
  run.MarkInputsReady();
  status = Forward();
  run.MarkComputed();
  library_.DidRun();
  return status.ok() ? outputs_.Declare(run) : status;
}

Status TorchScriptInstance::Forward() {
  const std::span<TorchInput> inputs = inputs_.Take();
  size_t bytes = 0;
  for (const TorchInput& input : inputs) bytes += input.size + input.text_count;
  // What the user writes is not measured.
  const bool chooses = has_cores_ && !library_.intra_op_written();
  const int32_t threads = chooses && threads_.TakesOne(bytes) ? 1 : 0;
  const uint64_t begin = NowNs();
  Status status =
      library_.Take(library_.api().run(module_->get(), flags_, threads, inputs.data(),
                                       static_cast<uint32_t>(inputs.size()), outputs_.result()),
                    "PyTorch execute failure: ");
  if (chooses && status.ok()) threads_.Took(bytes, NowNs() - begin);
  return status;
}

}  // namespace tritonts::pytorch

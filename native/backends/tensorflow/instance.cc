#include "instance.h"

#include <utility>

#include "../common/faults.h"
#include "engine/base/exit.h"

namespace tritonts::tensorflow {

TensorFlowInstance::TensorFlowInstance(std::shared_ptr<Session> session,
                                       std::shared_ptr<const Plan> plan)
    : session_(std::move(session)),
      plan_(std::move(plan)),
      table_(session_->library().table()),
      tensors_(session_->library(), plan_),
      result_(session_->library().NewStatus()) {
  session_->AddUser();
}

TensorFlowInstance::~TensorFlowInstance() {
  if (!terminated_.exchange(true)) session_->Leave();
}

Status TensorFlowInstance::Prepare() {
  if (plan_->in_caller) run_options_ = RunInCaller(session_->library());
  for (const TensorPlan& input : plan_->inputs) {
    auto output = session_->Find(input.place);
    if (!output.ok()) return output.status();
    inputs_.push_back(output.value());
  }
  for (const TensorPlan& one : plan_->outputs) {
    auto output = session_->Find(one.place);
    if (!output.ok()) return output.status();
    outputs_.push_back(output.value());
  }
  return Status::Ok();
}

void TensorFlowInstance::Execute(Run& run) {
  struct Releaser {
    BatchTensors* tensors;
    ~Releaser() { tensors->Release(); }
  } const releaser{&tensors_};
  tensors_.Respond(run, RunBatch(run));
}

Status TensorFlowInstance::RunBatch(Run& run) {
  if (terminated_) return Status::Cancelled("the run was asked to end");
  if (Status status = tensors_.Bind(run); !status.ok()) return status;
  run.MarkInputsReady();
  // All outputs each time: the library prepares the graph anew for other ones, and keeps that.
  table_.SessionRun(session_->get(), run_options_.get(), inputs_.data(), tensors_.inputs(),
                    static_cast<int>(inputs_.size()), outputs_.data(), tensors_.outputs(),
                    static_cast<int>(outputs_.size()), nullptr, 0, nullptr, result_.get());
  run.MarkComputed();
  // The first run may have started threads, and registered exit handlers.
  if (!ran_) OnRuntimeLibraryOpened();
  ran_ = true;
  const Status status = session_->library().Take(result_);
  if (status.ok()) return tensors_.Declare(run);
  if (terminated_) return Status::Cancelled("the run was asked to end");
  // What the library does not find while it runs, such as a file, is not the caller's.
  return status.code() == Code::kNotFound ? Status::Internal(status.message()) : status;
}

void TensorFlowInstance::Terminate() {
  if (!terminated_.exchange(true)) session_->Cancel();
}

}  // namespace tritonts::tensorflow

#include "instance.h"

#include <algorithm>
#include <span>
#include <string>

#include "../common/faults.h"

namespace tritonts::onnxruntime {

namespace {

// The address of empty tensors: the runtime requires an address for them, too.
alignas(64) char no_bytes[64];

}  // namespace

bool IsShapeMismatch(const Status& status) {
  // Only the message distinguishes this error: old versions have the first text, new ones the
  // second.
  return status.message().find("shape verification failed") != std::string::npos ||
         status.message().find("pre-allocated output OrtValues") != std::string::npos;
}

OnnxInstance::OnnxInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan)
    : session_(std::move(session)),
      plan_(std::move(plan)),
      library_(session_->library()),
      table_(session_->table()),
      split_(plan_->io),
      gathered_(plan_->inputs.size()) {
  outputs_.reserve(plan_->outputs.size());
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) {
    outputs_.emplace_back(*session_, *plan_, i, &split_);
  }
}

OnnxInstance::~OnnxInstance() {
  if (run_options_) table_.Call(kReleaseRunOptions, run_options_);
}

Status OnnxInstance::Prepare() {
  Status status = library_.Take(table_.Call(kCreateRunOptions, &run_options_));
  if (!status.ok()) return status;
  status = library_.Take(table_.Call(kSetRunLogSeverityLevel, run_options_, kLogFatal));
  // The tensors of these runs have no stable addresses, so no CUDA graphs.
  if (status.ok() && session_->place() && session_->settings().cuda_graphs()) {
    status = library_.Take(table_.Call(kAddRunConfigEntry, run_options_, kGraphId, kNoGraph));
  }
  for (const auto& [key, value] : session_->settings().run_config) {
    if (!status.ok()) break;
    status =
        library_.Take(table_.Call(kAddRunConfigEntry, run_options_, key.c_str(), value.c_str()));
  }
  return status;
}

void OnnxInstance::Terminate() {
  terminated_ = true;
  // This fails only without memory, and has no caller to report to.
  (void)library_.Take(table_.Call(kSetTerminate, run_options_));
}

const std::atomic<bool>* OnnxInstance::lost() const {
  return session_->place() ? &session_->place()->gpu()->lost() : nullptr;
}

void OnnxInstance::Execute(Run& run) {
  // However the run ends, no tensor may stay bound for the next one.
  struct Releaser {
    OnnxInstance* instance;
    ~Releaser() { instance->ReleaseRun(); }
  } const releaser{this};
  split_.Respond(run, plan_->model, RunBatch(run));
}

Status OnnxInstance::RunBatch(Run& run) {
  Status status = GatherInputs(run);
  if (status.ok()) status = ChooseOutputs(run);
  if (!status.ok()) return status;
  run.MarkInputsReady();
  status = RunSession();
  run.MarkComputed();
  if (!status.ok() && terminated_) return Status::Cancelled("the run was asked to end");
  if (!status.ok() && session_->place()) status = session_->place()->WhyFailed(status);
  for (size_t i = 0; status.ok() && i < wanted_.size(); i++) {
    const uint32_t index = wanted_[i];
    status = About("output", plan_->outputs[index].name, outputs_[index].Declare(run));
    // The model's fault, not a request's: do not run the requests again.
    if (!status.ok()) run.Release(Run::kAll);
  }
  return status;
}

Status OnnxInstance::GatherInputs(Run& run) {
  for (uint32_t i = 0; i < gathered_.size(); i++) {
    if (Status status = GatherInput(run, i); !status.ok()) {
      return About("input", plan_->inputs[i].name, status);
    }
  }
  return Status::Ok();
}

Status OnnxInstance::GatherInput(Run& run, uint32_t index) {
  const InputPlan& input = plan_->inputs[index];
  Gathered& gathered = gathered_[index];
  Status status = GatherConfigured(run, index, plan_->io.inputs[index], plan_->batching, &gathered);
  if (!status.ok() || !gathered.present) return status;
  const Buffer& buffer = gathered.buffer;
  std::span<const int64_t> shape = gathered.shape;
  if (input.scalar) shape = {};
  OrtValue* value = nullptr;
  if (input.datatype == DataType::kBytes) {
    status =
        ReadStrings(*session_, {static_cast<const char*>(buffer.data), buffer.size}, shape, &value);
  } else {
    status = library_.Take(table_.Call(kCreateTensorOver, session_->environment().cpu_memory,
                                       buffer.data ? buffer.data : no_bytes, buffer.size,
                                       shape.data(), shape.size(), input.element, &value));
  }
  if (value) {
    input_names_.push_back(input.name.c_str());
    input_values_.push_back(value);
  }
  return status;
}

Status OnnxInstance::ChooseOutputs(Run& run) {
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    if (!run.Needs(i)) continue;
    wanted_.push_back(i);
    output_names_.push_back(plan_->outputs[i].name.c_str());
    if (Status status = outputs_[i].Bind(run); !status.ok()) {
      return About("output", plan_->outputs[i].name, status);
    }
  }
  return Status::Ok();
}

Status OnnxInstance::RunSession() {
  Status status = RunOnce();
  if (status.ok() || !IsShapeMismatch(status)) return status;
  // The model declares a wrong output shape. The runtime tolerates that if it allocates the output
  // itself.
  for (const uint32_t index : wanted_) outputs_[index].NeverBind();
  return RunOnce();
}

Status OnnxInstance::RunOnce() {
  output_values_.clear();
  for (const uint32_t index : wanted_) output_values_.push_back(outputs_[index].value());
  const auto alone = session_->OneRun();
  const Status status = library_.Take(table_.Call(
      kRun, session_->get(), run_options_, input_names_.data(), input_values_.data(),
      input_values_.size(), output_names_.data(), output_values_.size(), output_values_.data()));
  for (size_t i = 0; i < wanted_.size(); i++) outputs_[wanted_[i]].value() = output_values_[i];
  return status;
}

void OnnxInstance::ReleaseRun() {
  for (OrtValue* value : input_values_) table_.Call(kReleaseValue, value);
  input_values_.clear();
  input_names_.clear();
  for (Gathered& gathered : gathered_) gathered.buffer.owner.reset();
  for (const uint32_t index : wanted_) outputs_[index].Release();
  wanted_.clear();
  output_names_.clear();
}

}  // namespace tritonts::onnxruntime

#include "inputs.h"

#include <algorithm>
#include <cstring>

#include "../common/faults.h"
#include "../common/serialised.h"

namespace tritonts::pytorch {

namespace {

// The bytes of BOOL elements must be 0 or 1: libtorch counts others wrongly.
bool AreBools(const Buffer& buffer) {
  const auto* const bytes = static_cast<const unsigned char*>(buffer.data);
  return std::all_of(bytes, bytes + buffer.size, [](unsigned char byte) { return byte <= 1; });
}

void MakeBools(const Buffer& buffer) {
  auto* const bytes = static_cast<unsigned char*>(buffer.data);
  for (size_t i = 0; i < buffer.size; i++) bytes[i] = bytes[i] != 0;
}

Status ReadTexts(const Buffer& buffer, std::span<const int64_t> shape,
                 std::vector<TorchText>* texts) {
  const std::span<const char> bytes(static_cast<const char*>(buffer.data), buffer.size);
  texts->clear();
  auto count = CountSerialised(bytes, shape);
  if (!count.ok()) return count.status();
  return ReadSerialised(bytes, count.value(), [&](size_t, std::span<const char> element) {
    texts->push_back({element.data(), element.size()});
    return Status::Ok();
  });
}

}  // namespace

BatchInputs::BatchInputs(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), inputs_(plan_->inputs.size()), arguments_(plan_->inputs.size()) {}

Status BatchInputs::Gather(Run& run) {
  for (uint32_t i = 0; i < inputs_.size(); i++) {
    if (Status status = GatherOne(run, i); !status.ok()) {
      return About("input", plan_->inputs[i].name, status);
    }
  }
  return Status::Ok();
}

Status BatchInputs::GatherOne(Run& run, uint32_t index) {
  const InputPlan& plan = plan_->inputs[index];
  Input& input = inputs_[index];
  Gathered& gathered = input.gathered;
  Status status = GatherConfigured(run, index, plan_->io.inputs[index], plan_->batching, &gathered);
  if (!status.ok()) return status;
  if (!gathered.present) {
    return Status::InvalidArg("the model needs it, but a request lacks it");
  }
  status = Protect(run, plan, &input);
  if (!status.ok()) return status;
  TorchInput& argument = arguments_[plan.argument];
  argument = {};
  if (plan.datatype == DataType::kBytes) {
    status = ReadTexts(gathered.buffer, gathered.shape, &input.texts);
    argument.kind = kTorchStrings;
    argument.texts = input.texts.data();
    argument.text_count = input.texts.size();
    return status;
  }
  argument.kind = kTorchTensor;
  argument.type = TorchTypeOf(plan.datatype);
  argument.key = plan_->is_map ? plan.name.c_str() : nullptr;
  argument.rank = gathered.shape.size();
  argument.dims = gathered.shape.data();
  argument.data = gathered.buffer.data;
  argument.size = gathered.buffer.size;
  return Status::Ok();
}

Status BatchInputs::Protect(Run& run, const InputPlan& plan, Input* input) {
  const Buffer& buffer = input->gathered.buffer;
  const bool is_text = plan.datatype == DataType::kBytes;
  const size_t element = std::max<size_t>(ByteSize(plan.datatype), 1);
  // A model may write to its inputs and keep them, but the requests' memory belongs to the callers.
  // So the model gets it only if its graph shows that it does neither. Other processes may change
  // shared memory while the model runs.
  const bool usable = (is_text || !plan_->has_effects) && buffer.kind != MemoryKind::kShared &&
                      reinterpret_cast<uintptr_t>(buffer.data) % element == 0;
  Status status = usable ? Status::Ok() : MakeOwn(run, input);
  if (!status.ok() || plan.datatype != DataType::kBool || AreBools(buffer)) return status;
  status = MakeOwn(run, input);
  if (status.ok()) MakeBools(buffer);
  return status;
}

Status BatchInputs::MakeOwn(Run& run, Input* input) {
  Buffer& buffer = input->gathered.buffer;
  // What was gathered from several requests is a copy already.
  if (input->gathered.copied || buffer.size == 0) return Status::Ok();
  BlockRef copy = run.pool().Acquire(buffer.size);
  if (!copy) return NoMemoryFor(buffer.size);
  std::memcpy(copy->data(), buffer.data, buffer.size);
  buffer = {copy->data(), buffer.size, copy->kind(), copy->device(), copy};
  input->gathered.copied = true;
  return Status::Ok();
}

std::span<TorchInput> BatchInputs::Take() {
  for (size_t i = 0; plan_->has_effects && i < inputs_.size(); i++) {
    const Gathered& gathered = inputs_[i].gathered;
    // The model may keep the tensor, which then keeps the memory.
    if (plan_->inputs[i].datatype == DataType::kBytes || !gathered.buffer.owner) continue;
    gathered.buffer.owner->Retain();
    arguments_[plan_->inputs[i].argument].owner = gathered.buffer.owner.get();
  }
  return arguments_;
}

void BatchInputs::Release() {
  for (Input& input : inputs_) input.gathered.buffer.owner.reset();
}

}  // namespace tritonts::pytorch

#include "infer_slot.h"

#include <algorithm>
#include <cstring>

#include "../common/faults.h"

namespace tritonts::openvino {

InferSlot::InferSlot(const Library& library, std::shared_ptr<const Plan> plan)
    : library_(library),
      table_(library.table()),
      plan_(std::move(plan)),
      request_(table_),
      gathered_(plan_->inputs.size()),
      kept_(library, plan_),
      padded_(plan_->inputs.size()),
      outputs_(plan_->outputs.size()) {}

Status InferSlot::Create(const OvCompiled* compiled) {
  return library_.Take(table_.compiled_model_create_infer_request(compiled, request_.out()));
}

void InferSlot::Cancel() {
  // It fails only if nothing is under way.
  (void)library_.Take(table_.infer_request_cancel(request_.get()));
}

Status InferSlot::Bind(Run& run) {
  for (uint32_t i = 0; i < plan_->inputs.size(); i++) {
    if (Status status = GatherInput(run, i); !status.ok()) {
      return About("input", plan_->inputs[i].name, status);
    }
  }
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) outputs_[i].wanted = run.Needs(i);
  small_ = kept_.Suit(gathered_, Rows(run));
  if (small_) return kept_.Bind(request_.get(), gathered_, Rows(run));
  kept_.Drop();
  // If an output is an input, the library has one tensor for both, the last that was set. It must
  // be the input's.
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) {
    if (Status status = BindOutput(run, i); !status.ok()) {
      return About("output", plan_->outputs[i].name, status);
    }
  }
  for (uint32_t i = 0; i < plan_->inputs.size(); i++) {
    if (Status status = BindInput(run, i); !status.ok()) {
      return About("input", plan_->inputs[i].name, status);
    }
  }
  return Status::Ok();
}

Status InferSlot::GatherInput(Run& run, uint32_t index) {
  Gathered& gathered = gathered_[index];
  Status status = Gather(run, index, plan_->batching, &gathered);
  if (!status.ok() || gathered.present) return status;
  return Status::InvalidArg("the model needs it, but a request lacks it");
}

Status InferSlot::BindInput(Run& run, uint32_t index) {
  const InputPlan& input = plan_->inputs[index];
  Gathered& gathered = gathered_[index];
  shape_ = gathered.shape;
  if (input.scalar) shape_.clear();
  void* data = gathered.buffer.data;
  if (plan_->padded_rows > Rows(run)) {
    const size_t size = gathered.buffer.size / Rows(run) * plan_->padded_rows;
    BlockRef& padded = padded_[index];
    padded = run.pool().Acquire(size);
    if (!padded) return NoMemoryFor(size);
    if (gathered.buffer.size > 0) std::memcpy(padded->data(), data, gathered.buffer.size);
    std::memset(static_cast<char*>(padded->data()) + gathered.buffer.size, 0,
                size - gathered.buffer.size);
    data = padded->data();
    shape_[0] = plan_->padded_rows;
  }
  return SetTensor(library_, request_.get(), Side::kInput, input.port, input.datatype, &shape_,
                   data);
}

Status InferSlot::BindOutput(Run& run, uint32_t index) {
  const OutputPlan& plan = plan_->outputs[index];
  Output& output = outputs_[index];
  if (!plan.fixed) return Status::Ok();
  const uint32_t rows = plan_->padded_rows > 0 ? plan_->padded_rows : Rows(run);
  shape_.clear();
  if (plan_->batching) shape_.push_back(int64_t{rows});
  if (!plan.scalar) shape_.insert(shape_.end(), plan.dims.begin(), plan.dims.end());
  void* data = nullptr;
  if (output.wanted && rows == Rows(run)) {
    auto place = run.Output(Run::kAll, index, plan.datatype, plan.dims);
    if (!place.ok()) return place.status();
    output.place = place.take();
    data = output.place.data;
  } else {
    // The library would otherwise write to the memory of an earlier batch.
    const size_t size = plan.bytes * rows;
    output.block = run.pool().Acquire(size);
    if (!output.block) return NoMemoryFor(size);
    data = output.block->data();
  }
  return SetTensor(library_, request_.get(), Side::kOutput, plan.port, plan.datatype, &shape_,
                   data);
}

Status InferSlot::Declare(Run& run) {
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) {
    if (!outputs_[i].wanted) continue;
    Status status = small_ ? DeclareKept(run, i) : DeclareOutput(run, i);
    if (status.ok()) continue;
    // The model's fault, not a request's: do not run the requests again.
    run.Release(Run::kAll);
    return About("output", plan_->outputs[i].name, status);
  }
  computed_ = true;
  return Status::Ok();
}

Status InferSlot::DeclareKept(Run& run, uint32_t index) {
  const OutputPlan& plan = plan_->outputs[index];
  auto bytes = kept_.Output(request_.get(), index, Rows(run));
  if (!bytes.ok()) return bytes.status();
  auto place = run.Output(Run::kAll, index, plan.datatype, plan.dims);
  if (!place.ok()) return place.status();
  if (!bytes.value().empty()) {
    std::memcpy(place.value().data, bytes.value().data(), bytes.value().size());
  }
  return Status::Ok();
}

Status InferSlot::DeclareOutput(Run& run, uint32_t index) {
  const OutputPlan& plan = plan_->outputs[index];
  Output& output = outputs_[index];
  Tensor tensor(table_);
  Status status = library_.Take(
      table_.infer_request_get_output_tensor_by_index(request_.get(), plan.port, tensor.out()));
  if (status.ok() && plan.fixed) return DeclareBound(run, index, tensor);
  if (!status.ok()) return status;
  OvShape shape{};
  status = library_.Take(table_.tensor_get_shape(tensor.get(), &shape));
  if (!status.ok()) return status;
  output.shape.assign(shape.dims, shape.dims + shape.rank);
  table_.shape_free(&shape);
  size_t size = 0;
  status = library_.Take(table_.tensor_get_byte_size(tensor.get(), &size));
  if (!status.ok()) return status;
  if (plan_->batching) {
    status = CheckRows(output.shape, run.total_batch_size());
    if (!status.ok()) return status;
    output.shape.erase(output.shape.begin());
  } else if (output.shape.empty()) {
    output.shape = {1};
  }
  // The memory of the infer request is used again by the next batch.
  auto place = run.Output(Run::kAll, index, plan.datatype, output.shape);
  if (!place.ok()) return place.status();
  if (size != place.value().size) {
    return Status::Internal("expected " + std::to_string(place.value().size) +
                            " bytes but the model returned " + std::to_string(size));
  }
  void* data = nullptr;
  if (size > 0) status = library_.Take(table_.tensor_data(tensor.get(), &data));
  if (status.ok() && size > 0) std::memcpy(place.value().data, data, size);
  output.place = place.take();
  return status;
}

Status InferSlot::DeclareBound(Run& run, uint32_t index, const Tensor& tensor) {
  const OutputPlan& plan = plan_->outputs[index];
  Output& output = outputs_[index];
  const size_t size = plan.bytes * Rows(run);
  const size_t computed = plan_->padded_rows > 0 ? plan.bytes * plan_->padded_rows : size;
  void* const bound = output.block ? output.block->data() : output.place.data;
  size_t actual = 0;
  void* data = nullptr;
  Status status = library_.Take(table_.tensor_get_byte_size(tensor.get(), &actual));
  if (status.ok() && actual > 0) status = library_.Take(table_.tensor_data(tensor.get(), &data));
  if (!status.ok()) return status;
  if (actual != computed) {
    return Status::Internal("expected " + std::to_string(computed) +
                            " bytes but the model returned " + std::to_string(actual));
  }
  // An output that is an input is in the input's memory.
  if (actual > 0 && data != bound) std::memcpy(bound, data, actual);
  // BindOutput has declared the other outputs.
  if (output.block) run.SetOutput(index, plan.datatype, plan.dims, bound, size, output.block.get());
  return Status::Ok();
}

void InferSlot::Release() {
  // After an error, nobody knows which tensors the infer request has.
  if (!computed_) kept_.Drop();
  computed_ = false;
  for (Gathered& gathered : gathered_) gathered.buffer.owner.reset();
  for (BlockRef& padded : padded_) padded.reset();
  for (Output& output : outputs_) {
    output.block.reset();
    output.place = {};
  }
}

}  // namespace tritonts::openvino

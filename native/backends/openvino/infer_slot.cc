#include "infer_slot.h"

#include <algorithm>
#include <cstring>

#include "../common/faults.h"

namespace tritonts::openvino {

namespace {

// The address of tensors without elements.
alignas(64) char no_bytes[64];

}  // namespace

InferSlot::InferSlot(const Library& library, std::shared_ptr<const Plan> plan)
    : library_(library),
      table_(library.table()),
      plan_(std::move(plan)),
      request_(table_),
      gathered_(plan_->inputs.size()),
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
  return SetTensor(Side::kInput, input.port, input.datatype, &shape_, data);
}

Status InferSlot::BindOutput(Run& run, uint32_t index) {
  const OutputPlan& plan = plan_->outputs[index];
  Output& output = outputs_[index];
  const auto requests = run.requests();
  output.wanted = std::any_of(requests.begin(), requests.end(), [index](const Request* request) {
    return request->header->Wants(index);
  });
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
  return SetTensor(Side::kOutput, plan.port, plan.datatype, &shape_, data);
}

Status InferSlot::SetTensor(Side side, size_t port, DataType datatype, std::vector<int64_t>* shape,
                            void* data) {
  Tensor tensor(table_);
  Status status = library_.Take(table_.tensor_create_from_host_ptr(
      library_.ElementOf(datatype), {static_cast<int64_t>(shape->size()), shape->data()},
      data ? data : no_bytes, tensor.out()));
  if (!status.ok()) return status;
  return library_.Take(
      side == Side::kInput
          ? table_.infer_request_set_input_tensor_by_index(request_.get(), port, tensor.get())
          : table_.infer_request_set_output_tensor_by_index(request_.get(), port, tensor.get()));
}

Status InferSlot::Declare(Run& run) {
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) {
    if (!outputs_[i].wanted) continue;
    Status status = DeclareOutput(run, i);
    if (status.ok()) continue;
    // The model's fault, not a request's: do not run the requests again.
    run.Release(Run::kAll);
    return About("output", plan_->outputs[i].name, status);
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
  for (Gathered& gathered : gathered_) gathered.buffer.owner.reset();
  for (BlockRef& padded : padded_) padded.reset();
  for (Output& output : outputs_) {
    output.block.reset();
    output.place = {};
  }
}

}  // namespace tritonts::openvino

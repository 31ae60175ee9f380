#include "kept_tensors.h"

#include <algorithm>
#include <cstring>

namespace tritonts::openvino {

namespace {

// A batch with more bytes than this, in or out, is not copied: to set tensors costs less.
constexpr size_t kMostKeptBytes = 16 << 10;
constexpr size_t kAlignment = 64;

// The address of tensors without elements.
alignas(kAlignment) char no_bytes[kAlignment];

}  // namespace

Status SetTensor(const Library& library, OvRequest* request, Side side, size_t port,
                 DataType datatype, std::vector<int64_t>* shape, void* data) {
  const Table& table = library.table();
  Tensor tensor(table);
  Status status = library.Take(table.tensor_create_from_host_ptr(
      library.ElementOf(datatype), {static_cast<int64_t>(shape->size()), shape->data()},
      data ? data : no_bytes, tensor.out()));
  if (!status.ok()) return status;
  return library.Take(
      side == Side::kInput
          ? table.infer_request_set_input_tensor_by_index(request, port, tensor.get())
          : table.infer_request_set_output_tensor_by_index(request, port, tensor.get()));
}

void KeptTensors::Memory::Resize(size_t wanted) {
  size = wanted;
  computed = nullptr;
  if (bytes.size() < wanted + kAlignment) bytes.resize(wanted + kAlignment);
}

char* KeptTensors::Memory::data() {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  return bytes.data() + (kAlignment - address % kAlignment) % kAlignment;
}

KeptTensors::KeptTensors(const Library& library, std::shared_ptr<const Plan> plan)
    : library_(library),
      plan_(std::move(plan)),
      inputs_(plan_->inputs.size()),
      outputs_(plan_->outputs.size()) {
  possible_ = plan_->padded_rows == 0;
  for (const OutputPlan& output : plan_->outputs) {
    possible_ = possible_ && output.fixed;
    row_bytes_ += output.bytes;
  }
}

bool KeptTensors::Suit(std::span<const Gathered> inputs, uint32_t rows) const {
  if (!possible_ || row_bytes_ > kMostKeptBytes / std::max(rows, 1u)) return false;
  size_t bytes = 0;
  for (const Gathered& input : inputs) bytes += std::min(input.buffer.size, kMostKeptBytes + 1);
  return bytes <= kMostKeptBytes;
}

bool KeptTensors::HasShapes(std::span<const Gathered> inputs, uint32_t rows) const {
  if (!bound_ || rows != rows_) return false;
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (inputs_[i].shape != inputs[i].shape) return false;
  }
  return true;
}

Status KeptTensors::Bind(OvRequest* request, std::span<const Gathered> inputs, uint32_t rows) {
  if (!HasShapes(inputs, rows)) {
    if (Status status = Set(request, inputs, rows); !status.ok()) return status;
  }
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Buffer& buffer = inputs[i].buffer;
    if (buffer.size > 0) std::memcpy(inputs_[i].data(), buffer.data, buffer.size);
  }
  return Status::Ok();
}

Status KeptTensors::Set(OvRequest* request, std::span<const Gathered> inputs, uint32_t rows) {
  bound_ = false;
  std::vector<int64_t> shape;
  // If an output is an input, the library has one tensor for both, the last that was set. It must
  // be the input's.
  for (size_t i = 0; i < outputs_.size(); i++) {
    const OutputPlan& output = plan_->outputs[i];
    outputs_[i].Resize(output.bytes * rows);
    shape.clear();
    if (plan_->batching) shape.push_back(int64_t{rows});
    if (!output.scalar) shape.insert(shape.end(), output.dims.begin(), output.dims.end());
    Status status = SetTensor(library_, request, Side::kOutput, output.port, output.datatype,
                              &shape, outputs_[i].data());
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < inputs_.size(); i++) {
    const InputPlan& input = plan_->inputs[i];
    inputs_[i].Resize(inputs[i].buffer.size);
    inputs_[i].shape = inputs[i].shape;
    shape = inputs[i].shape;
    if (input.scalar) shape.clear();
    Status status = SetTensor(library_, request, Side::kInput, input.port, input.datatype, &shape,
                              inputs_[i].data());
    if (!status.ok()) return status;
  }
  rows_ = rows;
  bound_ = true;
  return Status::Ok();
}

StatusOr<std::span<const char>> KeptTensors::Output(OvRequest* request, uint32_t index,
                                                    uint32_t rows) {
  Memory& output = outputs_[index];
  if (!output.computed) {
    const Table& table = library_.table();
    Tensor tensor(table);
    size_t size = 0;
    void* data = output.data();
    Status status = library_.Take(table.infer_request_get_output_tensor_by_index(
        request, plan_->outputs[index].port, tensor.out()));
    if (status.ok()) status = library_.Take(table.tensor_get_byte_size(tensor.get(), &size));
    if (status.ok() && size > 0) status = library_.Take(table.tensor_data(tensor.get(), &data));
    if (!status.ok()) return status;
    if (size != plan_->outputs[index].bytes * rows) {
      return Status::Internal("expected " + std::to_string(plan_->outputs[index].bytes * rows) +
                              " bytes but the model returned " + std::to_string(size));
    }
    // An output that is an input is in the input's memory.
    output.computed = static_cast<const char*>(data);
  }
  return std::span<const char>(output.computed, output.size);
}

}  // namespace tritonts::openvino

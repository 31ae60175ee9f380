#include "batch_tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "../common/faults.h"
#include "types.h"

namespace tritonts::tensorflow {

namespace {

// The address of tensors without elements.
alignas(64) char no_bytes[64];

// TensorFlow ends the process for a shape that it cannot count.
constexpr size_t kMostDims = 254;

Status CheckShape(std::span<const int64_t> shape) {
  if (shape.size() > kMostDims) {
    return Status::InvalidArg("its batch has " + std::to_string(shape.size()) +
                              " dimensions, but TensorFlow takes at most " +
                              std::to_string(kMostDims));
  }
  int64_t elements = 1;
  for (const int64_t dim : shape) {
    if (dim > 0 && elements > std::numeric_limits<int64_t>::max() / dim) {
      return Status::InvalidArg(
          "the dimensions of its batch have a product that is too large to count");
    }
    elements *= dim;
  }
  return Status::Ok();
}

void Nothing(void*, size_t, void*) {}

void DropBlock(void*, size_t, void* block) {
  static_cast<Block*>(block)->Release();
}

}  // namespace

BatchTensors::BatchTensors(const Library& library, std::shared_ptr<const Plan> plan)
    : library_(library),
      table_(library.table()),
      plan_(std::move(plan)),
      split_(plan_->io),
      gathered_(plan_->inputs.size()),
      inputs_(plan_->inputs.size()),
      input_list_(plan_->inputs.size()),
      output_list_(plan_->outputs.size()),
      shapes_(plan_->outputs.size()),
      strings_(plan_->outputs.size()) {}

Status BatchTensors::Bind(Run& run) {
  for (uint32_t i = 0; i < plan_->inputs.size(); i++) {
    if (Status status = BindInput(run, i); !status.ok()) {
      return About("input", plan_->inputs[i].name, status);
    }
  }
  return Status::Ok();
}

Status BatchTensors::BindInput(Run& run, uint32_t index) {
  const TensorPlan& input = plan_->inputs[index];
  Gathered& gathered = gathered_[index];
  Status status = GatherConfigured(run, index, plan_->io.inputs[index], plan_->batching, &gathered);
  if (!status.ok()) return status;
  if (!gathered.present) {
    return Status::InvalidArg("the model needs it, but a request lacks it");
  }
  std::span<const int64_t> shape = gathered.shape;
  if (input.scalar) shape = {};
  status = CheckShape(shape);
  if (!status.ok()) return status;
  auto tensor =
      input.datatype == DataType::kBytes
          ? ReadStrings(library_,
                        {static_cast<const char*>(gathered.buffer.data), gathered.buffer.size},
                        shape)
          : Lend(run, input, gathered, shape);
  if (!tensor.ok()) return tensor.status();
  inputs_[index] = tensor.take();
  input_list_[index] = inputs_[index].get();
  return Status::Ok();
}

StatusOr<TensorObject> BatchTensors::Lend(Run& run, const TensorPlan& input,
                                          const Gathered& gathered,
                                          std::span<const int64_t> shape) {
  const size_t size = gathered.buffer.size;
  void* data = size > 0 ? gathered.buffer.data : no_bytes;
  // A block of the batch lives as long as the library refers to it: a variable may keep its input.
  BlockRef block;
  if (gathered.copied) block = gathered.buffer.owner;
  if (!block && plan_->keeps && size > 0) {
    block = run.pool().Acquire(size);
    if (!block) return NoMemoryFor(size);
    std::memcpy(block->data(), data, size);
    data = block->data();
  }
  if (block) block->Retain();
  // The library copies data that is not aligned as it likes, and drops it at once.
  TfTensor* const tensor =
      table_.NewTensor(input.type, shape.data(), static_cast<int>(shape.size()), data, size,
                       block ? DropBlock : Nothing, block.get());
  if (tensor) return TensorObject(table_, tensor);
  // The library has dropped the block.
  return Status::Internal("TensorFlow makes no tensor of this shape with " + std::to_string(size) +
                          " bytes");
}

Status BatchTensors::Declare(Run& run) {
  for (uint32_t i = 0; i < plan_->outputs.size(); i++) {
    if (!run.Needs(i)) continue;
    Status status = DeclareOutput(run, i);
    if (status.ok()) continue;
    // The model's fault, not a request's: do not run the requests again.
    run.Release(Run::kAll);
    return About("output", plan_->outputs[i].name, status);
  }
  return Status::Ok();
}

Status BatchTensors::DeclareOutput(Run& run, uint32_t index) {
  const TensorPlan& output = plan_->outputs[index];
  const TfTensor* const tensor = output_list_[index];
  const int type = table_.TensorType(tensor);
  if (type != output.type) {
    return Status::Internal("expected " + std::string(Name(output.datatype)) +
                            " but the model returned " + TypeName(type));
  }
  std::vector<int64_t>& shape = shapes_[index];
  shape.clear();
  const int rank = table_.NumDims(tensor);
  for (int i = 0; i < rank; i++) shape.push_back(table_.Dim(tensor, i));
  if (split_.Splits(index, shape, run.total_batch_size())) return Split(run, index, shape);
  if (plan_->batching) {
    if (Status status = CheckRows(shape, run.total_batch_size()); !status.ok()) return status;
  } else if (shape.empty()) {
    shape = {1};
  }
  const auto tail = std::span<const int64_t>(shape).subspan(plan_->batching ? 1 : 0);
  if (output.datatype == DataType::kBytes) return DeclareStrings(run, index, tail);
  // The tensor's memory may also be the model's, such as a variable's value, or a request's, so the
  // response gets a copy.
  auto place = run.Output(Run::kAll, index, output.datatype, tail);
  if (!place.ok()) return place.status();
  const size_t size = table_.TensorByteSize(tensor);
  if (size != place.value().size) {
    return Status::Internal("expected " + std::to_string(place.value().size) +
                            " bytes but the model returned " + std::to_string(size));
  }
  if (size > 0) std::memcpy(place.value().data, table_.TensorData(tensor), size);
  return Status::Ok();
}

Status BatchTensors::Split(Run& run, uint32_t index, std::span<const int64_t> shape) {
  const TfTensor* const tensor = output_list_[index];
  const size_t size = table_.TensorByteSize(tensor);
  const BlockRef block = run.pool().Acquire(size);
  if (!block) return NoMemoryFor(size);
  if (size > 0) std::memcpy(block->data(), table_.TensorData(tensor), size);
  split_.Declare(run, index, shape, block->data(), size, block.get());
  return Status::Ok();
}

Status BatchTensors::DeclareStrings(Run& run, uint32_t index, std::span<const int64_t> tail) {
  const TfTensor* const tensor = output_list_[index];
  SerialisedStrings& strings = strings_[index];
  const size_t count = table_.TensorByteSize(tensor) / sizeof(TfString);
  const size_t rows = plan_->batching ? run.total_batch_size() : 1;
  Status status =
      WriteStrings(library_, run, {static_cast<const TfString*>(table_.TensorData(tensor)), count},
                   rows, &strings);
  if (!status.ok()) return status;
  if (plan_->batching) {
    run.SetRaggedOutput(index, DataType::kBytes, tail, strings.block->data(), strings.row_offsets,
                        strings.block.get());
  } else {
    run.SetOutput(index, DataType::kBytes, tail, strings.block->data(), strings.size,
                  strings.block.get());
  }
  return Status::Ok();
}

void BatchTensors::Release() {
  for (TensorObject& input : inputs_) input.Reset();
  for (TfTensor*& output : output_list_) {
    if (output) table_.DeleteTensor(output);
    output = nullptr;
  }
  for (Gathered& gathered : gathered_) gathered.buffer.owner.reset();
  for (SerialisedStrings& strings : strings_) strings.block.reset();
}

}  // namespace tritonts::tensorflow

#include "outputs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "../common/faults.h"
#include "../common/serialised.h"

namespace tritonts::pytorch {

namespace {

// Memory of a tensor that the library made, and that nothing else refers to.
class TensorBlock final : public Block {
 public:
  TensorBlock(const TorchApi& api, TorchMemory* memory, void* data, size_t size)
      : Block(data, size), api_(api), memory_(memory) {}

 private:
  void Dispose() override {
    api_.free_memory(memory_);
    delete this;
  }

  const TorchApi& api_;
  TorchMemory* const memory_;
};

// The block for a value. Takes over the memory.
BlockRef BlockOf(const TorchApi& api, const TorchValue& value) {
  try {
    return BlockRef::Adopt(
        new TensorBlock(api, value.memory, const_cast<void*>(value.data), value.size));
  } catch (...) {
    api.free_memory(value.memory);
    throw;
  }
}

std::string TypeName(DataType datatype) {
  return datatype == DataType::kBytes ? "TYPE_STRING" : "TYPE_" + std::string(Name(datatype));
}

Status OtherType(const OutputPlan& plan, const std::string& provided) {
  return Status::InvalidArg("configuration expects datatype " + TypeName(plan.datatype) +
                            " for output '" + plan.name + "', model provides " + provided);
}

}  // namespace

BatchOutputs::BatchOutputs(const Library& library, std::shared_ptr<const Plan> plan)
    : library_(library),
      api_(library.api()),
      plan_(std::move(plan)),
      result_(api_),
      split_(plan_->io),
      places_(plan_->outputs.size()),
      texts_(plan_->outputs.size()),
      rows_(plan_->outputs.size()),
      counts_(plan_->outputs.size()) {}

Status BatchOutputs::Declare(Run& run) {
  Status status;
  // As in Triton, all outputs must exist, whether they are wanted or not.
  for (uint32_t i = 0; status.ok() && i < places_.size(); i++) {
    auto place = PlaceOf(plan_->outputs[i]);
    if (place.ok()) places_[i] = place.value();
    status = place.status();
  }
  for (uint32_t i = 0; status.ok() && i < places_.size(); i++) {
    if (!run.Needs(i)) continue;
    status = DeclareOne(run, i, places_[i]);
  }
  // The model's fault, not a request's: do not run the requests again.
  if (!status.ok()) run.Release(Run::kAll);
  return status;
}

StatusOr<uint32_t> BatchOutputs::PlaceOf(const OutputPlan& output) const {
  const uint32_t count = api_.value_count(result_.get());
  const bool is_dict = count > 0 && api_.key(result_.get(), 0);
  if (!is_dict && output.value < count) return output.value;
  if (!is_dict) {
    return Status::InvalidArg("The output " + output.name +
                              " in the model configuration refers to an output index which doesn't "
                              "exist. This model has " +
                              std::to_string(count) + " outputs");
  }
  std::string keys;
  for (uint32_t i = 0; i < count; i++) {
    const std::string key = api_.key(result_.get(), i);
    if (key == output.name) return i;
    keys += (keys.empty() ? "'" : ", '") + key + "'";
  }
  return Status::InvalidArg("output '" + output.name +
                            "' is not a key of the dict that the model returned, which has " +
                            keys);
}

Status BatchOutputs::DeclareOne(Run& run, uint32_t index, uint32_t place) {
  const OutputPlan& plan = plan_->outputs[index];
  TorchValue value;
  Status status = library_.Take(api_.value(result_.get(), place, &value),
                                "PyTorch execute failure: output '" + plan.name + "': ");
  if (!status.ok()) return status;
  if (value.kind == kTorchTensor) return DeclareTensor(run, index, value);
  if (value.kind == kTorchStrings) return DeclareTexts(run, index, place, value.text_count);
  return Status::Internal("PyTorch execute failure: output '" + plan.name +
                          "' must be of type Tensor or List[str], but the model returned " +
                          value.type_name);
}

Status BatchOutputs::DeclareTensor(Run& run, uint32_t index, const TorchValue& value) {
  const OutputPlan& plan = plan_->outputs[index];
  BlockRef block;
  if (value.memory) block = BlockOf(api_, value);
  const DataType datatype = DataTypeOf(value.type);
  if (datatype != plan.datatype) {
    return OtherType(plan, datatype == DataType::kInvalid ? value.type_name : TypeName(datatype));
  }
  std::span<const int64_t> tail(value.dims, value.rank);
  if (split_.Splits(index, tail, run.total_batch_size())) {
    return Split(run, index, value, std::move(block));
  }
  if (tail.empty()) {
    return Status::InvalidArg("output '" + plan.name + "' is a scalar which is not supported.");
  }
  if (plan_->batching) {
    Status status = CheckRows(tail, run.total_batch_size());
    if (!status.ok()) return About("output", plan.name, status);
    tail = tail.subspan(1);
  }
  if (block) {
    run.SetOutput(index, datatype, tail, value.data, value.size, block.get());
    return Status::Ok();
  }
  // The tensor is a weight, an input, or another output, too. Callers may overwrite what they get.
  auto place = run.Output(Run::kAll, index, datatype, tail);
  if (!place.ok()) return About("output", plan.name, place.status());
  if (place.value().size != value.size) {
    return Status::Internal("output '" + plan.name + "': expected " +
                            std::to_string(place.value().size) + " bytes but the model returned " +
                            std::to_string(value.size));
  }
  if (value.size > 0) std::memcpy(place.value().data, value.data, value.size);
  return Status::Ok();
}

Status BatchOutputs::Split(Run& run, uint32_t index, const TorchValue& value, BlockRef block) {
  const void* data = value.data;
  if (!block) {
    // As for other tensors that are not the result's own: callers may overwrite what they get.
    block = run.pool().Acquire(value.size);
    if (!block) return NoMemoryFor(value.size);
    if (value.size > 0) std::memcpy(block->data(), data, value.size);
    data = block->data();
  }
  split_.Declare(run, index, {value.dims, value.rank}, data, value.size, block.get());
  return Status::Ok();
}

Status BatchOutputs::DeclareTexts(Run& run, uint32_t index, uint32_t place, uint64_t count) {
  const OutputPlan& plan = plan_->outputs[index];
  if (plan.datatype != DataType::kBytes) return OtherType(plan, "TYPE_STRING");
  const int64_t rows = static_cast<int64_t>(count);
  if (plan_->batching) {
    Status status = CheckRows(std::span(&rows, 1), run.total_batch_size());
    if (!status.ok()) return About("output", plan.name, status);
  }
  std::vector<size_t>& offsets = rows_[index];
  offsets.assign(1, 0);
  for (uint64_t i = 0; i < count; i++) {
    const size_t length = api_.text(result_.get(), place, i).size;
    if (length > std::numeric_limits<uint32_t>::max()) {
      return Status::Internal("output '" + plan.name + "': element " + std::to_string(i) + " has " +
                              std::to_string(length) +
                              " bytes, more than a BYTES element can have");
    }
    offsets.push_back(offsets.back() + kLengthBytes + length);
  }
  BlockRef& block = texts_[index];
  block = run.pool().Acquire(offsets.back());
  if (!block) return NoMemoryFor(offsets.back());
  for (uint64_t i = 0; i < count; i++) {
    const TorchText text = api_.text(result_.get(), place, i);
    char* const target = static_cast<char*>(block->data()) + offsets[i];
    WriteLength(target, static_cast<uint32_t>(text.size));
    if (text.size > 0) std::memcpy(target + kLengthBytes, text.text, text.size);
  }
  if (plan_->batching) {
    run.SetRaggedOutput(index, DataType::kBytes, {}, block->data(), offsets, block.get());
    return Status::Ok();
  }
  counts_[index] = rows;
  run.SetOutput(index, DataType::kBytes, std::span(&counts_[index], 1), block->data(),
                offsets.back(), block.get());
  return Status::Ok();
}

void BatchOutputs::Release() {
  for (BlockRef& block : texts_) block.reset();
  result_.Reset();
}

}  // namespace tritonts::pytorch

#include "output.h"

#include <cstring>
#include <span>
#include <utility>

#include "../common/faults.h"
#include "describe.h"
#include "value_block.h"

namespace tritonts::onnxruntime {

namespace {

// The address of empty tensors' blocks.
char no_output[1];

}  // namespace

Status RunOutput::Bind(Run& run) {
  if (!output_.fixed || !bindable_) return Status::Ok();
  shape_ = output_.dims;
  if (plan_.batching) shape_[0] = static_cast<int64_t>(Rows(run));
  auto place = run.Output(Run::kAll, index_, output_.datatype, Tail());
  if (!place.ok()) return place.status();
  bound_ = true;
  block_ = std::move(place.value().owner);
  const size_t rank = output_.scalar ? 0 : shape_.size();
  return session_.library().Take(session_.table().Call(
      kCreateTensorOver, session_.environment().cpu_memory, place.value().data, place.value().size,
      shape_.data(), rank, output_.element, &value_));
}

void RunOutput::NeverBind() {
  if (!bound_) return;
  bindable_ = false;
  Release();
}

Status RunOutput::Declare(Run& run) {
  if (bound_) return Status::Ok();  // Bind has declared it
  Status status = ReadTensorShape(session_, value_, &shape_);
  if (!status.ok()) return status;
  const bool splits = split_->Splits(index_, shape_, run.total_batch_size());
  if (plan_.batching && !splits) status = CheckRows(shape_, run.total_batch_size());
  if (!status.ok()) return status;
  if (output_.datatype == DataType::kBytes) return DeclareStrings(run);

  void* data = nullptr;
  status = session_.library().Take(session_.table().Call(kGetTensorData, value_, &data));
  if (!status.ok()) return status;
  const size_t size = CountElements(shape_) * ByteSize(output_.datatype);
  if (output_.passthrough) {
    status = Copy(run, data, size);
    if (!status.ok()) return status;
  } else {
    block_ = BlockRef::Adopt(new ValueBlock(session_.table(), std::exchange(value_, nullptr),
                                            data ? data : no_output, size));
  }
  if (splits) {
    split_->Declare(run, index_, shape_, block_->data(), size, block_.get());
  } else {
    run.SetOutput(index_, output_.datatype, Tail(), block_->data(), size, block_.get());
  }
  return Status::Ok();
}

Status RunOutput::Copy(Run& run, const void* data, size_t size) {
  block_ = run.pool().Acquire(size);
  if (!block_) return NoMemoryFor(size);
  if (size > 0) std::memcpy(block_->data(), data, size);
  return Status::Ok();
}

Status RunOutput::DeclareStrings(Run& run) {
  Status status = WriteStrings(session_, run, value_, CountElements(shape_), Rows(run), &strings_);
  if (!status.ok()) return status;
  block_ = std::move(strings_.block);
  if (plan_.batching) {
    run.SetRaggedOutput(index_, output_.datatype, Tail(), block_->data(), strings_.row_offsets,
                        block_.get());
  } else {
    run.SetOutput(index_, output_.datatype, Tail(), block_->data(), strings_.size, block_.get());
  }
  return Status::Ok();
}

std::span<const int64_t> RunOutput::Tail() const {
  static constexpr int64_t kOne[] = {1};
  if (plan_.batching) return std::span(shape_).subspan(1);
  if (shape_.empty()) return kOne;
  return shape_;
}

void RunOutput::Release() {
  if (value_) session_.table().Call(kReleaseValue, std::exchange(value_, nullptr));
  block_.reset();
  bound_ = false;
}

}  // namespace tritonts::onnxruntime

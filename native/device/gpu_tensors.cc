// Tensors in the memory of a GPU that go from one model to another.
#include <new>

#include "gpu.h"

namespace tritonts::device {

// Whoever drops the last reference may be a thread that must not call the driver. So what the pool
// does not keep is freed by the submission thread.
class Gpu::TensorBlock final : public Block, private Job {
 public:
  TensorBlock(Gpu& gpu, const DevicePool::Range& range)
      : Block(reinterpret_cast<void*>(range.address), range.size, MemoryKind::kDevice, gpu.id()),
        gpu_(gpu),
        range_(range),
        tensors_(gpu.tensors_) {
    const std::lock_guard lock(tensors_->mutex);
    tensors_->count++;
  }

 private:
  // When it is counted no more, the GPU may end.
  ~TensorBlock() override {
    const std::lock_guard lock(tensors_->mutex);
    tensors_->count--;
    tensors_->changed.notify_all();
  }
  void Dispose() override {
    if (!gpu_.memory().Keep(range_)) return gpu_.submission().Submit(this);
    delete this;
  }
  void Enqueue() override {
    gpu_.memory().Give(range_);
    delete this;
  }

  Gpu& gpu_;
  const DevicePool::Range range_;
  const std::shared_ptr<Tensors> tensors_;
};

StatusOr<BlockRef> Gpu::Tensor(size_t size) {
  auto range = memory_->Take(size);
  if (!range.ok()) return range.status();
  auto* const block = new (std::nothrow) TensorBlock(*this, range.value());
  if (block) return BlockRef::Adopt(block);
  memory_->Give(range.value());
  return Status::NoMemory();
}

void Gpu::AwaitTensors() {
  std::unique_lock lock(tensors_->mutex);
  tensors_->changed.wait(lock, [this] { return tensors_->count == 0; });
}

}  // namespace tritonts::device

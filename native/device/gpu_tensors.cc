// Tensors in a GPU's memory that pass from one model to another, possibly on another GPU.
#include <atomic>
#include <new>

#include "engine/memory/memory_copier.h"
#include "gpu.h"

namespace tritonts::device {

// The last reference may be released on a thread that must not call the driver. So memory that the
// pool does not keep is freed on the submission thread.
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

  Gpu& gpu() const { return gpu_; }

 private:
  // Once the count is 0, the GPU may be destroyed.
  ~TensorBlock() override {
    const std::lock_guard lock(tensors_->mutex);
    tensors_->count--;
    tensors_->changed.notify_all();
  }
  void Dispose() override {
    if (!gpu_.memory().Recycle(range_)) return gpu_.submission().Submit(this);
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

uint64_t Gpu::NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

Status Gpu::CopyFromPeer(cuda::Address to, const Buffer& from, cuda::Stream stream) {
  const auto* const tensor = dynamic_cast<const TensorBlock*>(from.owner.get());
  if (!tensor)
    return Status::Internal("no GPU of this process has " + NameOf(from.kind, from.device));
  const Gpu& peer = tensor->gpu();
  // Never copy from a lost device.
  if (Status fault = peer.fault(); !fault.ok()) return fault;
  ReachPeer(peer);
  return Check(call().MemcpyPeerAsync(to, context_, reinterpret_cast<cuda::Address>(from.data),
                                      peer.context_, from.size, stream),
               "cuMemcpyPeerAsync");
}

void Gpu::ReachPeer(const Gpu& peer) try {
  const std::lock_guard lock(peers_mutex_);
  if (!peers_.insert(peer.number_).second) return;
  int can = 0;
  if (call().DeviceCanAccessPeer(&can, device_, peer.device_) != 0 || can == 0) return;
  // If one of these calls fails, the driver copies through host memory.
  (void)call().CtxEnablePeerAccess(peer.context_, 0);
  cuda::MemoryPool pool = nullptr;
  const cuda::MemoryAccess access{1, id_, 3};
  if (peer.memory_->stream_ordered() && call().DeviceGetDefaultMemPool(&pool, peer.device_) == 0) {
    (void)call().MemPoolSetAccess(pool, &access, 1);
  }
} catch (const std::bad_alloc&) {
  // Then, too, the driver copies through host memory.
}

void Gpu::AwaitTensors() {
  std::unique_lock lock(tensors_->mutex);
  tensors_->changed.wait(lock, [this] { return tensors_->count == 0; });
}

}  // namespace tritonts::device

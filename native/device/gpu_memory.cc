// Memory of a GPU: pinned memory of the host, and the device's own.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "gpu.h"

namespace tritonts::device {

namespace {

std::atomic<size_t> pinned_limit{Gpu::kMostPinnedBytes};
std::atomic<size_t> pinned_bytes{0};  // of all pools, used or not
std::atomic<uint64_t> plain{0};

// Blocks have few sizes, so that they are used again: powers of two, from a page on.
size_t ClassOf(size_t size) {
  return static_cast<size_t>(std::bit_width(std::max<size_t>(size, 4096) - 1));
}
size_t Rounded(size_t size) {
  return size_t{1} << ClassOf(size);
}

}  // namespace

class Gpu::PinnedBlock final : public Block {
 public:
  // Without a pool it is plain memory.
  PinnedBlock(std::shared_ptr<Pool> pool, void* data, size_t size)
      : Block(data, size, pool ? MemoryKind::kPinned : MemoryKind::kHost), pool_(std::move(pool)) {}

 private:
  friend class Gpu;
  ~PinnedBlock() override = default;
  // Pinned memory goes back to the pool, which the GPU frees at its end.
  void Dispose() override {
    if (!pool_) {
      std::free(data());
      delete this;
      return;
    }
    Revive();
    Pool& pool = *pool_;
    const std::lock_guard lock(pool.mutex);
    PinnedBlock*& first = pool.idle[ClassOf(size())];
    next_ = first;
    first = this;
  }

  const std::shared_ptr<Pool> pool_;
  PinnedBlock* next_ = nullptr;  // in the pool
};

BlockRef Gpu::Pinned(size_t size) {
  if (size > SIZE_MAX / 4) return {};
  const size_t rounded = Rounded(size);
  {
    const std::lock_guard lock(pool_->mutex);
    PinnedBlock*& first = pool_->idle[ClassOf(size)];
    if (PinnedBlock* const block = first) {
      first = block->next_;
      return BlockRef::Adopt(block);
    }
  }
  void* memory = nullptr;
  const bool pinned = pinned_bytes.fetch_add(rounded) + rounded <= pinned_limit &&
                      call().MemHostAlloc(&memory, rounded, cuda::kPortable) == 0;
  if (!pinned) {
    pinned_bytes -= rounded;
    plain++;
    memory = std::malloc(rounded);
    if (!memory) return {};
  }
  auto* const block =
      new (std::nothrow) PinnedBlock(pinned ? pool_ : std::shared_ptr<Pool>(), memory, rounded);
  if (block) return BlockRef::Adopt(block);
  if (pinned) {
    (void)call().MemFreeHost(memory);
    pinned_bytes -= rounded;
  } else {
    std::free(memory);
  }
  return {};
}

void Gpu::LimitPinned(size_t bytes) {
  pinned_limit = bytes;
}

uint64_t Gpu::plain_blocks() {
  return plain;
}

void Gpu::FreePool() {
  const Current current(*this);
  for (PinnedBlock*& first : pool_->idle) {
    while (PinnedBlock* const block = first) {
      first = block->next_;
      // A lost device frees nothing, and the process goes on without it.
      (void)call().MemFreeHost(block->data());
      pinned_bytes -= block->size();
      delete block;
    }
  }
}

Status DeviceMemory::Reserve(size_t size) {
  if (size <= size_) return Status::Ok();
  Free();
  const size_t rounded = Rounded(size);
  const Status status = gpu_->Check(gpu_->call().MemAlloc(&address_, rounded), "cuMemAlloc");
  if (status.ok()) {
    size_ = rounded;
  } else {
    address_ = 0;
  }
  return status;
}

void DeviceMemory::Free() {
  // A lost device frees nothing.
  if (address_ != 0) (void)gpu_->call().MemFree(address_);
  address_ = 0;
  size_ = 0;
}

}  // namespace tritonts::device

// Pinned host memory, for copies to GPUs and back.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "gpu.h"
#include "pool_counts.h"

namespace tritonts::device {

namespace {

PoolLimit pinned{Gpu::kMostPinnedBytes};

}  // namespace

class Gpu::PinnedBlock final : public Block {
 public:
  // Without a pool it is plain memory.
  PinnedBlock(std::shared_ptr<Pool> pool, void* data, size_t size)
      : Block(data, size, pool ? MemoryKind::kPinned : MemoryKind::kHost), pool_(std::move(pool)) {}

 private:
  friend class Gpu;
  ~PinnedBlock() override = default;
  // Pinned memory returns to the pool; the GPU frees it at its end.
  void Dispose() override {
    if (!pool_) {
      std::free(data());
      delete this;
      return;
    }
    Revive();
    pinned.used -= size();
    Pool& pool = *pool_;
    const std::lock_guard lock(pool.mutex);
    PinnedBlock*& first = pool.idle[SizeClass(size())];
    next_ = first;
    first = this;
  }

  const std::shared_ptr<Pool> pool_;
  PinnedBlock* next_ = nullptr;  // in the pool
};

BlockRef Gpu::Pinned(size_t size) {
  if (size > SIZE_MAX / 4) return {};
  const size_t rounded = RoundedSize(size);
  {
    const std::lock_guard lock(pool_->mutex);
    PinnedBlock*& first = pool_->idle[SizeClass(size)];
    if (PinnedBlock* const block = first) {
      first = block->next_;
      pinned.used += rounded;
      return BlockRef::Adopt(block);
    }
  }
  void* memory = AllocatePinned(rounded);
  const bool is_pinned = memory != nullptr;
  if (!is_pinned) {
    pinned.plain++;
    memory = std::malloc(rounded);
    if (!memory) return {};
  }
  auto* const block =
      new (std::nothrow) PinnedBlock(is_pinned ? pool_ : std::shared_ptr<Pool>(), memory, rounded);
  if (block) {
    if (is_pinned) pinned.used += rounded;
    return BlockRef::Adopt(block);
  }
  if (is_pinned) {
    (void)call().MemFreeHost(memory);
    pinned.owned -= rounded;
  } else {
    std::free(memory);
  }
  return {};
}

void* Gpu::AllocatePinned(size_t size) {
  if (size > pinned.limit) return nullptr;
  while (pinned.owned.fetch_add(size) + size > pinned.limit) {
    pinned.owned -= size;
    if (!FreeLargestIdle()) return nullptr;
  }
  void* memory = nullptr;
  int result = call().MemHostAlloc(&memory, size, cuda::kPortable);
  // Idle blocks may have exhausted the memory: free them and retry.
  while (result != 0 && FreeLargestIdle())
    result = call().MemHostAlloc(&memory, size, cuda::kPortable);
  if (result == 0) return memory;
  pinned.owned -= size;
  return nullptr;
}

bool Gpu::FreeLargestIdle() {
  PinnedBlock* block = nullptr;
  {
    const std::lock_guard lock(pool_->mutex);
    for (size_t i = Pool::kSizes; i > 0 && !block; i--) {
      PinnedBlock*& first = pool_->idle[i - 1];
      block = first;
      if (block) first = block->next_;
    }
  }
  if (!block) return false;
  // Calls on a lost device fail and free nothing. The process goes on without the device.
  (void)call().MemFreeHost(block->data());
  pinned.owned -= block->size();
  delete block;
  return true;
}

void Gpu::LimitPinned(size_t bytes) {
  pinned.limit = bytes;
}

Gpu::PoolCounts Gpu::PinnedCounts() {
  return {pinned.limit, pinned.used, pinned.plain};
}

void Gpu::FreePool() {
  while (FreeLargestIdle()) continue;
}

}  // namespace tritonts::device

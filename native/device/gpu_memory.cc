// Pinned memory of the host, for copies to GPUs and back.
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
  // Pinned memory goes back to the pool, which the GPU frees at its end.
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
  void* memory = nullptr;
  const bool is_pinned = pinned.owned.fetch_add(rounded) + rounded <= pinned.limit &&
                         call().MemHostAlloc(&memory, rounded, cuda::kPortable) == 0;
  if (!is_pinned) {
    pinned.owned -= rounded;
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

void Gpu::LimitPinned(size_t bytes) {
  pinned.limit = bytes;
}

Gpu::PoolCounts Gpu::PinnedCounts() {
  return {pinned.limit, pinned.used, pinned.plain};
}

void Gpu::FreePool() {
  for (PinnedBlock*& first : pool_->idle) {
    while (PinnedBlock* const block = first) {
      first = block->next_;
      // A lost device frees nothing, and the process goes on without it.
      (void)call().MemFreeHost(block->data());
      pinned.owned -= block->size();
      delete block;
    }
  }
}

}  // namespace tritonts::device

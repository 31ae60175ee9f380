// Recycled host memory.
//
// Any thread may acquire. That takes a lock which is rarely contended: only the JS thread uses a
// port's pool, and mostly one run uses an instance's. Any thread may drop the last reference to a
// block, which pushes the block on a lock-free stack. The next Acquire takes over that whole stack.
//
// Blocks may outlive the pool. A block that returns after the pool's destruction, or beyond the
// limit of idle bytes, is freed at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/spin_lock.h"
#include "engine/memory/buffer.h"

namespace tritonts {

class BlockPool {
 public:
  // Keeps at most `idle_bytes` of idle memory.
  explicit BlockPool(size_t idle_bytes);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns at least `size` bytes, aligned to 64, contents undefined. Null: the system has no
  // memory.
  BlockRef Acquire(size_t size);

  // Frees the idle memory. Any thread may call it.
  void Shrink();

  // The bytes of idle memory. Any thread may call it.
  size_t idle_bytes() const;

 private:
  class Core;
  class PooledBlock;

  // The idle blocks of one size. Each block contains its link, so returning a block does not
  // allocate.
  struct Idle {
    PooledBlock* last = nullptr;
    bool empty() const { return last == nullptr; }
    void push(PooledBlock* block);
    PooledBlock* pop();
  };

  // Takes over the returned blocks. The caller holds the lock.
  void Collect();
  // Takes an idle block of the class; null if there is none.
  PooledBlock* TakeIdle(size_t size_class);
  // Frees the blocks of a list. The caller does not hold the lock.
  static void DestroyAll(Idle* blocks);
  // Frees idle blocks until one more block of `size` bytes could be kept when it returns. This
  // frees blocks of sizes that are no longer used.
  void MakeRoom(size_t size);

  static constexpr int kClasses = 64;
  Core* core_;
  SpinLock lock_;  // guards free_
  std::array<Idle, kClasses> free_;
};

}  // namespace tritonts

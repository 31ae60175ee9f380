// Recycled host memory.
//
// Any thread acquires, under a lock that nobody contends as a rule (a port's pool is the JS
// thread's, an instance's mostly that of its run); any thread may drop the last reference, which
// pushes the block on a lock-free stack that the next Acquire takes over whole. Blocks may outlive
// the pool: what is returned after the pool's destruction is freed at once, as is what is too much
// to keep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/spin_lock.h"
#include "engine/memory/buffer.h"

namespace tritonts {

class BlockPool {
 public:
  // At most `idle_bytes` of memory that nobody uses are kept.
  explicit BlockPool(size_t idle_bytes);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // At least `size` bytes, aligned to 64, contents undefined. Null when the system has no memory.
  BlockRef Acquire(size_t size);

  // Frees what nobody uses. Any thread.
  void Shrink();

  // Bytes held that are not in use. Any thread.
  size_t idle_bytes() const;

 private:
  class Core;
  class PooledBlock;

  // Blocks of one size that nobody uses, linked through themselves: to take one back needs no
  // memory.
  struct Idle {
    PooledBlock* last = nullptr;
    bool empty() const { return last == nullptr; }
    void push(PooledBlock* block);
    PooledBlock* pop();
  };

  // Takes over what was returned. With the lock.
  void Collect();
  // An idle block of the class; null where there is none.
  PooledBlock* TakeIdle(size_t size_class);
  // Frees what is on a list. Without the lock.
  static void DestroyAll(Idle* blocks);
  // Frees idle blocks of sizes that nobody asks for any more, so that one of `size` bytes more can
  // be kept when it comes back.
  void MakeRoom(size_t size);

  static constexpr int kClasses = 64;
  Core* core_;
  SpinLock lock_;  // guards free_
  std::array<Idle, kClasses> free_;
};

}  // namespace tritonts

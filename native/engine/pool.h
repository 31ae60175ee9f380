// Recycled host memory.
//
// One thread at a time acquires (the JS thread for a port's pool, the instance's thread for an
// instance's); any thread may drop the last reference, which pushes the block on a lock-free stack
// that the next Acquire takes over whole. So neither side ever locks. Blocks may outlive the pool:
// what is returned after the pool's destruction is freed at once, as is what is too much to keep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "buffer.h"

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

  // Bytes held that are not in use. Any thread.
  size_t idle_bytes() const;

 private:
  class Core;
  class PooledBlock;

  // Takes over what was returned.
  void Collect();
  // Frees idle blocks of sizes that nobody asks for any more, so that one of `size` bytes more can
  // be kept when it comes back.
  void MakeRoom(size_t size);

  static constexpr int kClasses = 64;
  Core* core_;
  std::array<std::vector<PooledBlock*>, kClasses> free_;
};

}  // namespace tritonts

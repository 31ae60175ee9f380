// Memory of a port that is not pooled: slabs, pages, and the words that the port shares with
// JavaScript.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include "engine/memory/buffer.h"
#include "platform/memory.h"

namespace tritonts {

// A block that is freed with its last reference. Any thread may drop a reference.
class PortMemory final : public Block {
 public:
  // Returns at least `size` bytes, contents undefined; empty: the system has no memory.
  static BlockRef Create(size_t size) {
    void* memory = platform::AllocateBlock(std::max(size, kAlignment), kAlignment);
    if (!memory) return {};
    auto* block = new (std::nothrow) PortMemory(memory, size);
    if (!block) platform::FreeBlock(memory, std::max(size, kAlignment));
    return BlockRef::Adopt(block);
  }

 private:
  static constexpr size_t kAlignment = 4096;

  PortMemory(void* memory, size_t size) : Block(memory, size) {}
  void Dispose() override {
    platform::FreeBlock(data(), std::max(size(), kAlignment));
    delete this;
  }
};

}  // namespace tritonts

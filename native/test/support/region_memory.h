// Memory for regions of tests, as another process could share it.
#pragma once

#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "engine/memory/buffer.h"

namespace tritonts::test {

class RegionMemory final : public Block {
 public:
  // Zeros. `freed` is set when the last reference is dropped.
  static BlockRef Make(size_t size, std::atomic<bool>* freed = nullptr) {
    // Begins at a multiple of 64, and has a byte even if it is empty.
    auto* const data = static_cast<char*>(::operator new(size + 1, kAlignment));
    std::memset(data, 0, size + 1);
    return BlockRef::Adopt(new RegionMemory(data, size, freed));
  }
  static BlockRef Of(const std::string& bytes, std::atomic<bool>* freed = nullptr) {
    BlockRef block = Make(bytes.size(), freed);
    std::memcpy(block->data(), bytes.data(), bytes.size());
    return block;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};

  RegionMemory(void* data, size_t size, std::atomic<bool>* freed)
      : Block(data, size, MemoryKind::kShared), freed_(freed) {}
  void Dispose() override {
    if (freed_) *freed_ = true;
    ::operator delete(data(), kAlignment);
    delete this;
  }

  std::atomic<bool>* const freed_;
};

}  // namespace tritonts::test

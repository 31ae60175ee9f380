// The memory of a fake device. Its bytes are inverted, so code that reads it as host memory gets
// garbage.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "engine/memory/memory_copier.h"

namespace tritonts::test {

class FakeDevice final : public MemoryCopier {
 public:
  // Counts of calls. Without `copies` it supports no copies.
  std::atomic<int> allocated{0};
  std::atomic<int> copied{0};
  std::atomic<bool> copies{true};

  BlockRef Allocate(MemoryKind kind, int device, size_t size) override {
    if (kind != MemoryKind::kDevice) return {};
    allocated++;
    return BlockRef::Adopt(new DeviceBlock(size, device, this));
  }
  bool Copies(MemoryKind, MemoryKind) const override { return copies; }
  Status Copy(const Buffer& from, const Buffer& to) override {
    copied++;
    const bool inverts = IsHostMemory(from.kind) != IsHostMemory(to.kind);
    const auto* source = static_cast<const unsigned char*>(from.data);
    auto* target = static_cast<unsigned char*>(to.data);
    for (size_t i = 0; i < from.size; i++) {
      target[i] = inverts ? static_cast<unsigned char>(~source[i]) : source[i];
    }
    return Status::Ok();
  }
  // Allocates a block with these bytes.
  BlockRef Put(const std::string& bytes, int device = 0) {
    BlockRef block = Allocate(MemoryKind::kDevice, device, bytes.size());
    std::string inverted;
    for (const char byte : bytes) inverted.push_back(static_cast<char>(~byte));
    std::memcpy(block->data(), inverted.data(), inverted.size());
    return block;
  }

 private:
  class DeviceBlock final : public Block {
   public:
    DeviceBlock(size_t size, int device, FakeDevice* owner)
        : Block(std::malloc(size + 1), size, MemoryKind::kDevice, device), owner_(owner) {}
    MemoryCopier* copier() const override { return owner_; }

   private:
    void Dispose() override {
      std::free(data());
      delete this;
    }
    FakeDevice* const owner_;
  };
};

}  // namespace tritonts::test

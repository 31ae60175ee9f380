// Memory that tensors live in.
//
// A Block is a counted range of memory with one owner kind (a pool, a runtime's value, a mapped
// file) that decides what happens when the last reference goes. A Buffer is a view of memory plus,
// optionally, a reference that keeps it alive. Counting is atomic: any thread may copy, move and
// drop references; the bytes themselves belong to whoever the request's state says (request.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tritonts {

enum class MemoryKind : uint8_t { kHost, kPinned, kDevice, kShared };

class MemoryCopier;

// Base of everything that owns memory. Created with one reference, held by its creator.
class Block {
 public:
  Block(void* data, size_t size, MemoryKind kind = MemoryKind::kHost, int device = 0)
      : data_(data), size_(size), kind_(kind), device_(device) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }
  MemoryKind kind() const { return kind_; }
  int device() const { return device_; }
  // Who copies to and from it, where the processor does not address it; not owned, and null where
  // nobody does.
  virtual MemoryCopier* copier() const { return nullptr; }

  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Dispose();
  }

 protected:
  virtual ~Block() = default;
  // Called once, when the last reference went, on the thread that dropped it.
  virtual void Dispose() = 0;
  // For owners that hand the same block out again: back to one reference.
  void Revive() { references_.store(1, std::memory_order_relaxed); }

 private:
  void* data_;
  size_t size_;
  MemoryKind kind_;
  int device_;
  std::atomic<uint32_t> references_{1};
};

// A counted reference to a Block.
class BlockRef {
 public:
  BlockRef() = default;
  // Takes over the one reference that a fresh Block comes with.
  static BlockRef Adopt(Block* block) {
    BlockRef reference;
    reference.block_ = block;
    return reference;
  }
  static BlockRef Share(Block* block) {
    if (block) block->Retain();
    return Adopt(block);
  }
  BlockRef(const BlockRef& other) : block_(other.block_) {
    if (block_) block_->Retain();
  }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() {
    if (block_) block_->Release();
  }

  explicit operator bool() const { return block_ != nullptr; }
  Block* get() const { return block_; }
  Block* operator->() const { return block_; }
  void reset() { *this = BlockRef(); }

 private:
  Block* block_ = nullptr;
};

// A range of memory. Without an owner it lives as long as what handed it out says.
struct Buffer {
  void* data = nullptr;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kHost;
  int device = 0;
  BlockRef owner;
};

}  // namespace tritonts

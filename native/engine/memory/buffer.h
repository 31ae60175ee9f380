// Memory for tensors.
//
// A Block is a reference-counted range of memory. Its subclass (for a pool, a runtime's value, a
// mapped file) decides what happens when the last reference is dropped. A Buffer is a view of
// memory and, optionally, a reference that keeps it alive. Counting is atomic, so any thread may
// copy, move and drop references. The request's state decides which thread may access the bytes
// (request.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tritonts {

// kShared: borrowed from another process, which may modify it, or from the response cache, which
// lends it to others, too. Copy once before validating; copy to retain, or to write.
enum class MemoryKind : uint8_t { kHost, kPinned, kDevice, kShared };

class BlockPool;
class MemoryCopier;

// The base of the classes that own memory. A Block is created with one reference, which the creator
// holds.
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
  // The copier for this memory if the processor cannot address it. Not owned; null: there is none.
  virtual MemoryCopier* copier() const { return nullptr; }

  // Whether some of its bytes were lost, because another process took them away. They are zeros
  // now.
  virtual bool lost() const { return false; }

  // The pool for copies of borrowed memory (kShared); null: the pool of who copies, such as an
  // instance or a port.
  virtual BlockPool* copies() const { return nullptr; }

  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Dispose();
  }

 protected:
  virtual ~Block() = default;
  // Called once, on the thread that dropped the last reference.
  virtual void Dispose() = 0;
  // Sets the count back to one, for owners that reuse the block.
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
  // Takes over the reference with which a new Block is created.
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

// A range of memory. Without an owner, the function that returns it documents its lifetime.
struct Buffer {
  void* data = nullptr;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kHost;
  int device = 0;
  BlockRef owner;
};

}  // namespace tritonts

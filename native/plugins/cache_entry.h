// What a cache plug-in gets to store and to return: an entry, which is a list of buffers, and the
// allocator that copies them.
//
//   insert: the entry has buffers with sizes and without memory. The plug-in gives each its own
//           memory (TRITONCACHE_CacheEntrySetBuffer), and TRITONCACHE_Copy fills it.
//   lookup: the entry is empty. The plug-in adds the buffers that it keeps
//           (TRITONCACHE_CacheEntryAddBuffer), and TRITONCACHE_Copy copies them to the server.
//
// What the server stores is one buffer: an answer with its request, in the form of
// engine/cache/stored_answer.h, which is checked when it is read.
//
// Ownership: both are the server's, and valid during the call of the plug-in that they are given
// to. Buffers' memory is the plug-in's. One thread at a time, which need not be the called one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "plugins/abi/types.h"
#include "plugins/buffer_attributes.h"

struct TRITONCACHE_CacheEntry {
  struct Buffer {
    void* base = nullptr;
    TRITONSERVER_BufferAttributes attributes;
  };
  std::vector<Buffer> buffers;
  bool is_insert = false;  // then it has all its buffers from the beginning
};

// Copies between an entry and the server. Of this base, so that each direction has its own.
struct TRITONCACHE_Allocator {
  // Throws std::bad_alloc.
  virtual tritonts::Status Copy(const TRITONCACHE_CacheEntry& entry) = 0;

 protected:
  ~TRITONCACHE_Allocator() = default;
};

namespace tritonts::plugins {

// Fills the memory that the plug-in has set. `value` outlives it.
class InsertAllocator final : public TRITONCACHE_Allocator {
 public:
  explicit InsertAllocator(std::span<const char> value) : value_(value) {}
  Status Copy(const TRITONCACHE_CacheEntry& entry) override;
  bool copied() const { return copied_; }

 private:
  const std::span<const char> value_;
  bool copied_ = false;
};

// Copies what the plug-in has added to a block of `pool`, which outlives it. What is larger than
// `most` bytes is not what the server has stored.
class LookupAllocator final : public TRITONCACHE_Allocator {
 public:
  LookupAllocator(BlockPool* pool, size_t most) : pool_(pool), most_(most) {}
  Status Copy(const TRITONCACHE_CacheEntry& entry) override;
  // Empty: nothing was copied.
  BlockRef TakeBlock() { return std::move(block_); }
  size_t size() const { return size_; }

 private:
  BlockPool* const pool_;
  const size_t most_;
  BlockRef block_;
  size_t size_ = 0;
};

}  // namespace tritonts::plugins

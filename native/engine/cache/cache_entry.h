// An entry of the response cache: the key of a request, and the outputs of its answer.
//
// Small pieces of memory come from the allocator, and large ones from a pool, which uses the memory
// of evicted entries again. The system takes long to provide fresh memory.
//
// An entry is made with its key when a request is looked up in vain. It is filled when the answer
// is there, and never changes after that. It is counted: the cache, requests that were found in it,
// and the request whose answer it waits for share it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/cache/cache_key.h"
#include "engine/cache/key_hash.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "engine/request/response_sink.h"

namespace tritonts {

class CacheEntry;

// A counted reference to an entry. Any thread may copy and drop it.
class CacheEntryRef {
 public:
  CacheEntryRef() = default;
  // Takes over the reference with which an entry is made.
  static CacheEntryRef Adopt(CacheEntry* entry) {
    CacheEntryRef reference;
    reference.entry_ = entry;
    return reference;
  }
  inline CacheEntryRef(const CacheEntryRef& other);
  CacheEntryRef(CacheEntryRef&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  CacheEntryRef& operator=(CacheEntryRef other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  inline ~CacheEntryRef();

  explicit operator bool() const { return entry_ != nullptr; }
  CacheEntry* get() const { return entry_; }
  CacheEntry& operator*() const { return *entry_; }
  CacheEntry* operator->() const { return entry_; }
  // Gives the reference to the caller.
  CacheEntry* Release() { return std::exchange(entry_, nullptr); }

 private:
  CacheEntry* entry_ = nullptr;
};

class CacheEntry {
 public:
  // Makes an entry with the key of a request, whose hash and sample (KeyHead) these are. `pool`
  // outlives it until Fill. Empty: there is no memory.
  static CacheEntryRef Make(BlockPool* pool, uint64_t scope, const KeyHash& hash, uint64_t sample,
                            const KeyHead& head, const Request& request) noexcept;

  uint64_t scope() const { return scope_; }
  const KeyHash& hash() const { return hash_; }
  std::span<const char> key() const { return {key_, key_size_}; }

  // Whether another entry has the same key.
  bool IsFor(const CacheEntry& other) const;

  // Copies the outputs of an answer, which are in memory that the processor can address. Called
  // once, before another thread has the entry. False: there is no memory.
  bool Fill(std::span<const OutputTensor> outputs) noexcept;
  // The outputs. Their memory is the entry's. It must not be changed, and is not aligned.
  std::span<const OutputTensor> outputs() const { return {outputs_, output_count_}; }
  // The bytes of all outputs.
  size_t output_bytes() const { return output_bytes_; }
  // Whether the outputs of two entries differ only in their bytes.
  bool IsLike(const CacheEntry& other) const;

  // The bytes that the entry occupies, with everything around it.
  size_t cost() const;

 private:
  friend class CacheEntryRef;
  friend class LocalCache;

  CacheEntry(BlockPool* pool, uint64_t scope, const KeyHash& hash, uint64_t sample, size_t key_size)
      : hash_(hash), sample_(sample), scope_(scope), pool_(pool), key_size_(key_size) {}
  ~CacheEntry();

  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Free();
  }
  void Free();

  std::atomic<uint32_t> references_{1};
  const KeyHash hash_;
  const uint64_t sample_;  // 0: the key is small
  const uint64_t scope_;
  BlockPool* const pool_;
  const size_t key_size_;
  char* key_ = nullptr;  // behind this object, in the same memory, or in a block
  BlockRef key_block_;
  OutputTensor* outputs_ = nullptr;
  size_t output_count_ = 0;
  void* memory_ = nullptr;  // of the outputs: their descriptions, their dims, and their bytes
  BlockRef block_;          // that has `memory_`; empty: it is from the allocator
  size_t memory_size_ = 0;
  size_t output_bytes_ = 0;

  // Of the cache, guarded by the lock of the entry's shard (local_cache.h).
  CacheEntry* newer_ = nullptr;  // in the order of use
  CacheEntry* older_ = nullptr;
  uint64_t used_ns_ = 0;
  uint64_t expires_ns_ = 0;  // 0: never
  bool stored_ = false;      // whether it is in its shard
};

inline CacheEntryRef::CacheEntryRef(const CacheEntryRef& other) : entry_(other.entry_) {
  if (entry_) entry_->Retain();
}
inline CacheEntryRef::~CacheEntryRef() {
  if (entry_) entry_->Drop();
}

}  // namespace tritonts

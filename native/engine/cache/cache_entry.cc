#include "engine/cache/cache_entry.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tritonts {

namespace {

// What the allocator and the cache's table add to an entry's two pieces of memory, about.
constexpr size_t kAround = 64;
// Pieces of memory from this size on come from the pool.
constexpr size_t kPooled = size_t{32} << 10;

}  // namespace

CacheEntryRef CacheEntry::Make(BlockPool* pool, uint64_t scope, const KeyHash& hash,
                               uint64_t sample, const KeyHead& head,
                               const Request& request) noexcept {
  const size_t key_size = head.SizeOf(request);
  BlockRef block;
  if (key_size >= kPooled) {
    block = pool->Acquire(key_size);
    if (!block) return {};
  }
  void* const memory = ::operator new(sizeof(CacheEntry) + (block ? 0 : key_size), std::nothrow);
  if (!memory) return {};
  auto* const entry = new (memory) CacheEntry(pool, scope, hash, sample, key_size);
  entry->key_ =
      block ? static_cast<char*>(block->data()) : static_cast<char*>(memory) + sizeof(CacheEntry);
  entry->key_block_ = std::move(block);
  head.Write(request, entry->key_);
  return CacheEntryRef::Adopt(entry);
}

CacheEntry::~CacheEntry() {
  if (!block_) ::operator delete(memory_);
}

void CacheEntry::Free() {
  this->~CacheEntry();
  ::operator delete(static_cast<void*>(this));
}

bool CacheEntry::IsFor(const CacheEntry& other) const {
  return hash_ == other.hash_ && key_size_ == other.key_size_ &&
         std::memcmp(key_, other.key_, key_size_) == 0;
}

bool CacheEntry::Fill(std::span<const OutputTensor> outputs) noexcept {
  size_t dims = 0;
  size_t bytes = 0;
  for (const OutputTensor& output : outputs) {
    dims += output.tail.size();
    bytes += output.size;
  }
  const size_t before = outputs.size() * sizeof(OutputTensor) + dims * sizeof(int64_t);
  output_bytes_ = bytes;
  memory_size_ = before + bytes;
  if (memory_size_ >= kPooled) {
    block_ = pool_->Acquire(memory_size_);
    memory_ = block_ ? block_->data() : nullptr;
  } else {
    memory_ = ::operator new(memory_size_, std::nothrow);
  }
  if (!memory_) return false;
  outputs_ = static_cast<OutputTensor*>(memory_);
  output_count_ = outputs.size();
  char* next_dims = static_cast<char*>(memory_) + outputs.size() * sizeof(OutputTensor);
  char* next_bytes = static_cast<char*>(memory_) + before;
  for (size_t i = 0; i < outputs.size(); i++) {
    const OutputTensor& from = outputs[i];
    auto* const to = new (outputs_ + i) OutputTensor(from);
    auto* const tail = reinterpret_cast<int64_t*>(next_dims);
    std::copy(from.tail.begin(), from.tail.end(), tail);
    to->tail = {tail, from.tail.size()};
    if (from.size > 0) std::memcpy(next_bytes, from.data, from.size);
    to->data = next_bytes;
    to->kind = MemoryKind::kHost;
    // Without a block, the receiver copies what it keeps: it may change its outputs, and others
    // get these, too.
    to->block = nullptr;
    next_dims += from.tail.size() * sizeof(int64_t);
    next_bytes += from.size;
  }
  return true;
}

bool CacheEntry::IsLike(const CacheEntry& other) const {
  return std::equal(outputs().begin(), outputs().end(), other.outputs().begin(),
                    other.outputs().end(), [](const OutputTensor& a, const OutputTensor& b) {
                      return a.index == b.index && a.datatype == b.datatype && a.batch == b.batch &&
                             a.size == b.size &&
                             std::equal(a.tail.begin(), a.tail.end(), b.tail.begin(), b.tail.end());
                    });
}

size_t CacheEntry::cost() const {
  return sizeof(CacheEntry) + (key_block_ ? key_block_->size() : key_size_) +
         (block_ ? block_->size() : memory_size_) + kAround;
}

}  // namespace tritonts

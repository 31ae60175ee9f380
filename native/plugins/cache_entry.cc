#include "plugins/cache_entry.h"

#include <cstring>
#include <string>

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

std::string EntryBufferText(size_t index) {
  return "buffer " + std::to_string(index) + " of the cache entry";
}

// Whether the processor can address a buffer's memory, and the buffer has some.
Status CheckEntryMemory(const TRITONCACHE_CacheEntry::Buffer& buffer, size_t index) {
  if (buffer.attributes.memory_type == TRITONSERVER_MEMORY_GPU) {
    return Status::Unsupported(EntryBufferText(index) +
                               ": expected memory of the host but received memory of a GPU");
  }
  if (buffer.base) return Status::Ok();
  return Status::InvalidArg(EntryBufferText(index) + ": expected memory but received null");
}

Status NoEntryBuffer(const TRITONCACHE_CacheEntry& entry, size_t index) {
  return Status::InvalidArg("expected the index of one of the " +
                            std::to_string(entry.buffers.size()) +
                            " buffers of the cache entry but received " + std::to_string(index));
}

Status NoCacheObject(const char* what) {
  return Status::InvalidArg(std::string("expected ") + what + " but received null");
}

}  // namespace

Status InsertAllocator::Copy(const TRITONCACHE_CacheEntry& entry) {
  const TRITONCACHE_CacheEntry::Buffer& buffer = entry.buffers.front();
  Status status = CheckEntryMemory(buffer, 0);
  if (!status.ok()) return status;
  if (buffer.attributes.byte_size < value_.size()) {
    return Status::InvalidArg(EntryBufferText(0) + ": expected " + std::to_string(value_.size()) +
                              " bytes of memory but received " +
                              std::to_string(buffer.attributes.byte_size));
  }
  std::memcpy(buffer.base, value_.data(), value_.size());
  copied_ = true;
  return Status::Ok();
}

Status LookupAllocator::Copy(const TRITONCACHE_CacheEntry& entry) {
  if (entry.buffers.size() != 1) {
    return Status::InvalidArg("expected 1 buffer of a cache entry but received " +
                              std::to_string(entry.buffers.size()));
  }
  const TRITONCACHE_CacheEntry::Buffer& buffer = entry.buffers.front();
  Status status = CheckEntryMemory(buffer, 0);
  if (!status.ok()) return status;
  const size_t size = buffer.attributes.byte_size;
  if (size == 0 || size > most_) {
    return Status::InvalidArg(EntryBufferText(0) + ": expected 1 to " + std::to_string(most_) +
                              " bytes but received " + std::to_string(size));
  }
  BlockRef block = pool_->Acquire(size);
  if (!block) return Status::NoMemory();
  std::memcpy(block->data(), buffer.base, size);
  block_ = std::move(block);
  size_ = size;
  return Status::Ok();
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry* entry,
                                                      size_t* count) noexcept {
  return Guard([&] {
    if (!entry || !count) return NoCacheObject("a cache entry and a place for the count");
    *count = entry->buffers.size();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryAddBuffer(
    TRITONCACHE_CacheEntry* entry, void* base,
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  return Guard([&] {
    if (!entry || !buffer_attributes)
      return NoCacheObject("a cache entry and a buffer's attributes");
    if (entry->is_insert) {
      return Status::InvalidArg(
          "an entry to insert has all its buffers: expected a call of "
          "TRITONCACHE_CacheEntrySetBuffer");
    }
    entry->buffers.push_back({base, *buffer_attributes});
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryGetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void** base,
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  return Guard([&] {
    if (!entry) return NoCacheObject("a cache entry");
    if (index >= entry->buffers.size()) return NoEntryBuffer(*entry, index);
    const TRITONCACHE_CacheEntry::Buffer& buffer = entry->buffers[index];
    if (base) *base = buffer.base;
    if (buffer_attributes) {
      const bool is_callers = buffer_attributes->is_callers;
      *buffer_attributes = buffer.attributes;
      buffer_attributes->is_callers = is_callers;
    }
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONCACHE_CacheEntrySetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void* new_base,
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  return Guard([&] {
    if (!entry) return NoCacheObject("a cache entry");
    if (index >= entry->buffers.size()) return NoEntryBuffer(*entry, index);
    TRITONCACHE_CacheEntry::Buffer& buffer = entry->buffers[index];
    buffer.base = new_base;
    // Without attributes they stay what they are: only the place is new.
    if (buffer_attributes) buffer.attributes = *buffer_attributes;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONCACHE_Copy(TRITONCACHE_Allocator* allocator,
                                     TRITONCACHE_CacheEntry* entry) noexcept {
  return Guard([&] {
    if (!allocator || !entry) return NoCacheObject("an allocator and a cache entry");
    return allocator->Copy(*entry);
  });
}

}  // namespace tritonts::plugins

// A cache that breaks rules. Its configuration says which: `fault`, and for how long: `ms`.
//
//   null, slow_start, start_throw   in CacheInitialize
//   refuse, no_copy, no_buffer, two_buffers, gpu, no_memory, huge, noise, slow, steady, hang,
//   throw, two_lines                       in look-ups; "steady" finds something after its time
//   insert_refuse, insert_no_copy, insert_small, insert_gpu, insert_throw   in insertions
//
// With `times`, look-ups break the rule only so often, and then find nothing.
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "plugins/abi/triton.h"

namespace {

struct Cache {
  std::string fault;
  int ms = 0;
  std::atomic<int> times{0};
};

std::string ValueOf(const std::string& config, const std::string& key) {
  const std::string begin = "\"" + key + "\":\"";
  const size_t at = config.find(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return config.substr(from, config.find('"', from) - from);
}

void Sleep(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TRITONSERVER_Error* NotFound() {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, "nothing is found");
}

TRITONSERVER_Error* Add(TRITONCACHE_CacheEntry* entry, void* base, size_t size,
                        TRITONSERVER_MemoryType kind) {
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  TRITONSERVER_BufferAttributesNew(&attributes);
  TRITONSERVER_BufferAttributesSetMemoryType(attributes, kind);
  TRITONSERVER_BufferAttributesSetByteSize(attributes, size);
  TRITONSERVER_Error* const error = TRITONCACHE_CacheEntryAddBuffer(entry, base, attributes);
  TRITONSERVER_BufferAttributesDelete(attributes);
  return error;
}

char noise[4096];

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache, const char* config) {
  const std::string fault = ValueOf(config, "fault");
  const std::string ms = ValueOf(config, "ms");
  const std::string times = ValueOf(config, "times");
  if (fault == "null") return nullptr;
  if (fault == "start_throw") throw std::runtime_error("no start");
  if (fault == "slow_start") Sleep(std::stoi(ms));
  auto* const made = new Cache();
  made->fault = fault;
  made->ms = ms.empty() ? 0 : std::stoi(ms);
  made->times = times.empty() ? 1 << 30 : std::stoi(times);
  *cache = reinterpret_cast<TRITONCACHE_Cache*>(made);
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache) {
  delete reinterpret_cast<Cache*>(cache);
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNKNOWN, "nobody wants to know this");
}

TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char*,
                                            TRITONCACHE_CacheEntry* entry,
                                            TRITONCACHE_Allocator* allocator) {
  auto* const all = reinterpret_cast<Cache*>(cache);
  const std::string& fault = all->fault;
  if (all->times.fetch_sub(1) <= 0) return NotFound();
  if (fault == "refuse") {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the store is gone");
  }
  if (fault == "throw") throw std::runtime_error("no look-up");
  if (fault == "two_lines") {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "one\nline \x1b[2J");
  }
  if (fault == "slow" || fault == "steady") Sleep(all->ms);
  while (fault == "hang") Sleep(1000);
  TRITONSERVER_Error* error = nullptr;
  if (fault == "no_copy") return Add(entry, noise, sizeof(noise), TRITONSERVER_MEMORY_CPU);
  if (fault == "no_buffer") return TRITONCACHE_Copy(allocator, entry);
  if (fault == "two_buffers") {
    error = Add(entry, noise, 8, TRITONSERVER_MEMORY_CPU);
    if (!error) error = Add(entry, noise, 8, TRITONSERVER_MEMORY_CPU);
  } else if (fault == "gpu") {
    error = Add(entry, noise, sizeof(noise), TRITONSERVER_MEMORY_GPU);
  } else if (fault == "no_memory") {
    error = Add(entry, nullptr, sizeof(noise), TRITONSERVER_MEMORY_CPU);
  } else if (fault == "huge") {
    error = Add(entry, noise, SIZE_MAX, TRITONSERVER_MEMORY_CPU);
  } else if (fault == "noise" || fault == "steady") {
    error = Add(entry, noise, sizeof(noise), TRITONSERVER_MEMORY_CPU);
  } else {
    return NotFound();
  }
  return error ? error : TRITONCACHE_Copy(allocator, entry);
}

TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char*,
                                            TRITONCACHE_CacheEntry* entry,
                                            TRITONCACHE_Allocator* allocator) {
  const std::string& fault = reinterpret_cast<Cache*>(cache)->fault;
  if (fault == "insert_refuse") {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the store is full");
  }
  if (fault == "insert_throw") throw 1;
  if (fault == "insert_no_copy") return nullptr;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  TRITONSERVER_BufferAttributesNew(&attributes);
  TRITONSERVER_BufferAttributesSetByteSize(attributes, 1);
  if (fault == "insert_gpu") {
    TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_GPU);
    TRITONSERVER_BufferAttributesSetByteSize(attributes, sizeof(noise));
  }
  TRITONSERVER_Error* error = TRITONCACHE_CacheEntrySetBuffer(entry, 0, noise, attributes);
  TRITONSERVER_BufferAttributesDelete(attributes);
  return error ? error : TRITONCACHE_Copy(allocator, entry);
}

}  // extern "C"

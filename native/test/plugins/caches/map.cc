// A cache in a map, which uses every function of the interface and checks what it gets.
//
// Its configuration: `fail`: a text with which it refuses to begin; `most`: the most bytes of an
// entry.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/abi/triton.h"

namespace {

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::vector<char>> entries;
  size_t most = SIZE_MAX;
};

TRITONSERVER_Error* Fault(TRITONSERVER_Error_Code code, const std::string& text) {
  return TRITONSERVER_ErrorNew(code, text.c_str());
}

TRITONSERVER_Error* Unexpected(const char* what) {
  return Fault(TRITONSERVER_ERROR_INTERNAL, std::string("the map cache did not expect ") + what);
}

// The text of a key in a JSON object of texts.
std::string ValueOf(const std::string& config, const std::string& key) {
  const std::string begin = "\"" + key + "\":\"";
  const size_t at = config.find(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return config.substr(from, config.find('"', from) - from);
}

#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* const error = (call)) return error

// Attributes that end with the scope.
struct Attributes {
  Attributes() { TRITONSERVER_BufferAttributesNew(&all); }
  ~Attributes() { TRITONSERVER_BufferAttributesDelete(all); }
  TRITONSERVER_BufferAttributes* all = nullptr;
};

// A call that has to fail with this code.
bool Fails(TRITONSERVER_Error* error, TRITONSERVER_Error_Code code) {
  const bool as_expected = error && TRITONSERVER_ErrorCode(error) == code;
  if (error) TRITONSERVER_ErrorDelete(error);
  return as_expected;
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache, const char* config) {
  uint32_t major = 9;
  uint32_t minor = 9;
  RETURN_IF_ERROR(TRITONCACHE_ApiVersion(&major, &minor));
  if (major != 0 || minor < 1) return Unexpected("this version");
  const std::string fail = ValueOf(config, "fail");
  if (!fail.empty()) return Fault(TRITONSERVER_ERROR_INVALID_ARG, fail);
  auto made = new Cache();
  const std::string most = ValueOf(config, "most");
  if (!most.empty()) made->most = std::stoul(most);
  *cache = reinterpret_cast<TRITONCACHE_Cache*>(made);
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache) {
  delete reinterpret_cast<Cache*>(cache);
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry,
                                            TRITONCACHE_Allocator* allocator) {
  auto* const all = reinterpret_cast<Cache*>(cache);
  const std::lock_guard lock(all->mutex);
  const auto found = all->entries.find(key);
  if (found == all->entries.end()) return Fault(TRITONSERVER_ERROR_NOT_FOUND, "no such key");
  size_t count = 9;
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryBufferCount(entry, &count));
  if (count != 0) return Unexpected("buffers before it has added one");
  Attributes attributes;
  TRITONSERVER_BufferAttributesSetMemoryType(attributes.all, TRITONSERVER_MEMORY_CPU);
  TRITONSERVER_BufferAttributesSetByteSize(attributes.all, found->second.size());
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryAddBuffer(entry, found->second.data(), attributes.all));
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryBufferCount(entry, &count));
  if (count != 1) return Unexpected("another number of buffers than it has added");
  return TRITONCACHE_Copy(allocator, entry);
}

TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry,
                                            TRITONCACHE_Allocator* allocator) {
  auto* const all = reinterpret_cast<Cache*>(cache);
  const std::lock_guard lock(all->mutex);
  if (all->entries.count(key) > 0) return Fault(TRITONSERVER_ERROR_ALREADY_EXISTS, "it is known");
  size_t count = 0;
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryBufferCount(entry, &count));
  if (count != 1) return Unexpected("another number of buffers than 1");
  Attributes attributes;
  void* base = all;
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes.all));
  if (base) return Unexpected("memory of the server");
  if (!Fails(TRITONCACHE_CacheEntryGetBuffer(entry, 1, &base, attributes.all),
             TRITONSERVER_ERROR_INVALID_ARG)) {
    return Unexpected("a second buffer");
  }
  // Attributes that it was told in stay its own.
  TRITONSERVER_BufferAttributes* own = nullptr;
  RETURN_IF_ERROR(TRITONSERVER_BufferAttributesNew(&own));
  RETURN_IF_ERROR(TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, own));
  RETURN_IF_ERROR(TRITONSERVER_BufferAttributesDelete(own));
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_GPU;
  size_t size = 0;
  TRITONSERVER_BufferAttributesMemoryType(attributes.all, &kind);
  TRITONSERVER_BufferAttributesByteSize(attributes.all, &size);
  if (kind != TRITONSERVER_MEMORY_CPU || size == 0) return Unexpected("such attributes");
  if (size > all->most) return Fault(TRITONSERVER_ERROR_INTERNAL, "the entry is too large");
  if (!Fails(TRITONCACHE_Copy(allocator, entry), TRITONSERVER_ERROR_INVALID_ARG)) {
    return Unexpected("a copy to nowhere");
  }
  if (!Fails(TRITONCACHE_CacheEntryAddBuffer(entry, &size, attributes.all),
             TRITONSERVER_ERROR_INVALID_ARG)) {
    return Unexpected("one more buffer");
  }
  std::vector<char> bytes(size);
  RETURN_IF_ERROR(TRITONCACHE_CacheEntrySetBuffer(entry, 0, bytes.data(), nullptr));
  RETURN_IF_ERROR(TRITONCACHE_Copy(allocator, entry));
  all->entries.emplace(key, std::move(bytes));
  return nullptr;
}

}  // extern "C"

#include "plugins/cache_plugin.h"

#include <utility>

#include "engine/base/exit.h"
#include "plugins/abi/functions.h"
#include "plugins/backend_plugin.h"
#include "plugins/cache_entry.h"
#include "plugins/plugin_library.h"

namespace tritonts::plugins {

namespace {

Status CacheExits() {
  return Status::Unavailable(Reason::kClosed, "the process exits");
}

// A plug-in's success that is none.
Status BrokenCache(const char* function, const char* what) {
  return Status::Internal(std::string(function) + " returned success, but " + what);
}

}  // namespace

// The functions of the plug-in, under their own names.
struct CachePlugin::Calls {
#define TRITONTS_FIELD(returns, name, parameters, arguments) returns(*name) parameters = nullptr;
  TRITONTS_CACHE_PLUGIN_FUNCTIONS(TRITONTS_FIELD)
#undef TRITONTS_FIELD

  // Returns the name of a function that the library lacks; null: it has all.
  const char* Find(const platform::DynamicLibrary& library) {
#define TRITONTS_FIND(returns, name, parameters, arguments)                    \
  this->name = reinterpret_cast<returns(*) parameters>(library.Symbol(#name)); \
  if (!this->name) return #name;
    TRITONTS_CACHE_PLUGIN_FUNCTIONS(TRITONTS_FIND)
#undef TRITONTS_FIND
    return nullptr;
  }
};

CachePlugin::CachePlugin(std::unique_ptr<const Calls> calls) : calls_(std::move(calls)) {}

StatusOr<std::unique_ptr<CachePlugin>> CachePlugin::Open(const std::string& path,
                                                         const std::string& own_library,
                                                         const std::string& config) {
  auto library = OpenPlugin(path, own_library);
  if (!library.ok()) return library.status();
  auto calls = std::make_unique<Calls>();
  if (const char* const lacking = calls->Find(library.value())) {
    return Status::InvalidArg("'" + path + "' has no function " + lacking +
                              ", which a cache needs");
  }
  std::unique_ptr<CachePlugin> made(new CachePlugin(std::move(calls)));
  const RuntimeCall call(false);
  if (!call.allowed()) return CacheExits();
  TRITONCACHE_Cache* cache = nullptr;
  Status status = CallPlugin(made->calls_->TRITONCACHE_CacheInitialize, &cache, config.c_str());
  if (!status.ok()) return status;
  if (!cache) return BrokenCache("TRITONCACHE_CacheInitialize", "there is no cache");
  made->cache_ = cache;
  return made;
}

CachePlugin::~CachePlugin() {
  if (!cache_) return;
  const RuntimeCall call(false);
  // Nobody is left to be told of an error.
  if (call.allowed()) (void)CallPlugin(calls_->TRITONCACHE_CacheFinalize, cache_);
}

Status CachePlugin::Lookup(const std::string& key, BlockPool* pool, size_t most, Value* found) {
  LookupAllocator allocator(pool, most);
  TRITONCACHE_CacheEntry entry;
  const RuntimeCall call(false);
  if (!call.allowed()) return CacheExits();
  Status status =
      CallPlugin(calls_->TRITONCACHE_CacheLookup, cache_, key.c_str(), &entry, &allocator);
  if (status.code() == Code::kNotFound) return Status::Ok();
  if (!status.ok()) return status;
  found->size = allocator.size();
  found->block = allocator.TakeBlock();
  if (found->block) return Status::Ok();
  return BrokenCache("TRITONCACHE_CacheLookup", "the entry was not copied (TRITONCACHE_Copy)");
}

Status CachePlugin::Insert(const std::string& key, std::span<const char> value) {
  InsertAllocator allocator(value);
  TRITONCACHE_CacheEntry entry;
  entry.is_insert = true;
  entry.buffers.resize(1);
  entry.buffers.front().attributes.byte_size = value.size();
  const RuntimeCall call(false);
  if (!call.allowed()) return CacheExits();
  Status status =
      CallPlugin(calls_->TRITONCACHE_CacheInsert, cache_, key.c_str(), &entry, &allocator);
  if (status.code() == Code::kAlreadyExists) return Status::Ok();
  if (!status.ok() || allocator.copied()) return status;
  return BrokenCache("TRITONCACHE_CacheInsert", "the entry was not copied (TRITONCACHE_Copy)");
}

}  // namespace tritonts::plugins

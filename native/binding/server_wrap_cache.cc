// The methods of NativeServer for its response cache.
#include "addon.h"
#include "cache_wrap.h"
#include "convert.h"
#include "engine/cache/local_cache.h"
#include "engine/cache/remote_cache.h"
#include "plugin_cache_wrap.h"
#include "server_wrap.h"

namespace tritonts {

Napi::Value ServerWrap::Cache(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const LocalCache* const local = server_->cache();
  const RemoteCache* const remote = server_->remote_cache().get();
  if (!local && !remote) return env.Undefined();
  const Napi::Object object = Napi::Object::New(env);
  const auto number = [&](const char* key, uint64_t value) {
    object.Set(key, Napi::Number::New(env, static_cast<double>(value)));
  };
  if (local) {
    const LocalCache::Counts counts = local->counts();
    number("size", counts.size);
    number("used", counts.used);
    number("entries", counts.entries);
    number("hits", counts.hits);
    number("misses", counts.misses);
    number("evictions", counts.evictions);
    number("lookupNs", counts.lookup_ns);
    number("insertionNs", counts.insertion_ns);
  } else {
    const RemoteCache::Counts counts = remote->counts();
    number("hits", counts.hits);
    number("misses", counts.misses);
    number("lookupNs", counts.lookup_ns);
    number("unusable", counts.unusable);
    number("failed", counts.failed);
    number("dropped", counts.dropped);
    object.Set("plugin", Napi::Boolean::New(env, remote->options().plugin));
  }
  return object;
}

Napi::Value ServerWrap::AttachCache(const Napi::CallbackInfo& info) {
  if (!server_->remote_cache() || !info[0].IsFunction()) return info.Env().Undefined();
  const Napi::Value made = CacheWrap::Create(info.Env(), server_, info[0].As<Napi::Function>());
  return made.IsEmpty() ? info.Env().Undefined() : made;
}

Napi::Value ServerWrap::AttachPluginCache(const Napi::CallbackInfo& info) {
  PluginCacheWrap* const cache = PluginCacheWrap::Unwrap(info[0]);
  return Napi::Boolean::New(info.Env(), cache && cache->AttachTo(*server_));
}

}  // namespace tritonts

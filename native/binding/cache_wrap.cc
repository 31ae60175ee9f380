#include "cache_wrap.h"

#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "addon.h"
#include "convert.h"

namespace tritonts {

namespace {

constexpr const char* kRemoteCacheTag = "tritonts cache";

// The bytes of a Uint8Array; without data for other values.
std::span<const char> BytesOf(const Napi::Value& value) {
  bool is_typed_array = false;
  napi_typedarray_type type;
  size_t size = 0;
  void* data = nullptr;
  if (napi_is_typedarray(value.Env(), value, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(value.Env(), value, &type, &size, &data, nullptr, nullptr) !=
          napi_ok ||
      type != napi_uint8_array) {
    return {};
  }
  return {static_cast<const char*>(data), size};
}

}  // namespace

Napi::Function CacheWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"lookups", &CacheWrap::Lookups},     {"entries", &CacheWrap::Entries},
      {"answer", &CacheWrap::Answer},       {"setMode", &CacheWrap::SetMode},
      {"detach", &CacheWrap::DetachFromJs},
  };
  return DefineWrapped(env, "NativeCache", kMethods);
}

Napi::Value CacheWrap::Create(Napi::Env env, std::shared_ptr<Server> server,
                              const Napi::Function& wake) {
  auto made = std::make_unique<CacheWrap>();
  CacheWrap* wrap = made.get();
  auto signal = std::make_shared<Signal>();
  if (napi_create_threadsafe_function(env, wake, nullptr, Napi::String::New(env, kRemoteCacheTag),
                                      0, 1, nullptr, nullptr, wrap, Wake,
                                      &signal->function) != napi_ok) {
    return {};
  }
  // From here on the wrap releases the function in all cases.
  wrap->signal_ = signal;
  wrap->server_ = std::move(server);
  napi_unref_threadsafe_function(env, signal->function);
  // Not called after RemoteCache::Detach has returned; the function lives longer than that.
  wrap->server_->remote_cache()->Attach([signal] {
    napi_call_threadsafe_function(signal->function, nullptr, napi_tsfn_nonblocking);
  });
  std::unordered_set<CacheWrap*>& caches = DataOf(env).caches;
  caches.insert(wrap);
  const Napi::Object object = Wrap(DataOf(env).cache_class, std::move(made));
  if (object.IsEmpty()) {
    caches.erase(wrap);
    return {};
  }
  wrap->self_ = Napi::Persistent(object);
  return object;
}

void CacheWrap::Detach() {
  if (!server_) return;
  const std::shared_ptr<Server> server = std::exchange(server_, nullptr);
  server->remote_cache()->Detach();
  napi_release_threadsafe_function(signal_->function, napi_tsfn_abort);
}

void CacheWrap::DetachFromJs(const Napi::CallbackInfo& info) {
  if (!server_) return;
  Detach();
  DataOf(info.Env()).caches.erase(this);
  self_.Reset();
}

void CacheWrap::Wake(napi_env env, napi_value wake, void* context, void*) {
  if (env == nullptr || wake == nullptr) return;  // torn down
  if (!static_cast<CacheWrap*>(context)->server_) return;
  Napi::HandleScope scope(env);
  napi_call_function(env, Napi::Env(env).Undefined(), wake, 0, nullptr, nullptr);
}

Napi::Value CacheWrap::Lookups(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!server_) return env.Undefined();
  uint32_t number = 0;
  const std::span<const RemoteCache::Lookup> lookups =
      server_->remote_cache()->TakeLookups(&number);
  if (lookups.empty()) return env.Undefined();
  // If one of these cannot be made, as without memory, the requests wait until their time is over.
  const Napi::Array keys = Napi::Array::New(env, lookups.size());
  for (uint32_t i = 0; i < lookups.size(); i++) {
    Napi::HandleScope scope(env);
    keys.Set(i, Napi::String::New(env, lookups[i].key));
  }
  const Napi::Object batch = Napi::Object::New(env);
  batch.Set("batch", Napi::Number::New(env, number));
  batch.Set("keys", keys);
  return batch;
}

Napi::Value CacheWrap::Entries(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!server_) return Napi::Array::New(env);
  const std::vector<RemoteCache::Entry> entries = server_->remote_cache()->TakeEntries();
  const Napi::Array array = Napi::Array::New(env, entries.size());
  for (uint32_t i = 0; i < entries.size(); i++) {
    Napi::HandleScope scope(env);
    const Napi::Object object = Napi::Object::New(env);
    object.Set("key", Napi::String::New(env, entries[i].key));
    object.Set("value",
               Napi::Buffer<char>::Copy(env, entries[i].value.data(), entries[i].value.size()));
    array.Set(i, object);
  }
  return array;
}

void CacheWrap::Answer(const Napi::CallbackInfo& info) {
  if (!server_) return;
  const auto number = static_cast<uint32_t>(NumberOf(info[0]));
  std::vector<std::span<const char>> values;
  if (info[1].IsArray()) {
    const Napi::Array array = info[1].As<Napi::Array>();
    values.reserve(array.Length());
    for (uint32_t i = 0; i < array.Length(); i++) values.push_back(BytesOf(array.Get(i)));
  }
  // The array, which is an argument, keeps the bytes, and no JavaScript runs meanwhile.
  const std::shared_ptr<Server> server = server_;
  server->remote_cache()->Answer(number, values);
}

void CacheWrap::SetMode(const Napi::CallbackInfo& info) {
  if (!server_) return;
  const std::string mode = StringOf(info[0]);
  server_->remote_cache()->SetMode(mode == "open"    ? RemoteCache::Mode::kOpen
                                   : mode == "probe" ? RemoteCache::Mode::kProbe
                                                     : RemoteCache::Mode::kPaused);
}

}  // namespace tritonts

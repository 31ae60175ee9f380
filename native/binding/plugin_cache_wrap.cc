#include "plugin_cache_wrap.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "addon.h"
#include "convert.h"

namespace tritonts {

namespace {

constexpr const char* kCacheTag = "tritonts plug-in cache";

}  // namespace

Napi::Function PluginCacheWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"state", &PluginCacheWrap::State},
      {"close", &PluginCacheWrap::Close},
      {"detach", &PluginCacheWrap::DetachFromJs},
  };
  return DefineWrapped(env, "NativePluginCache", kMethods);
}

Napi::Value PluginCacheWrap::Create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[3].IsFunction()) return env.Undefined();
  auto made = std::make_unique<PluginCacheWrap>();
  PluginCacheWrap* const wrap = made.get();
  auto signal = std::make_shared<Signal>();
  if (napi_create_threadsafe_function(env, info[3], nullptr, Napi::String::New(env, kCacheTag), 0,
                                      1, nullptr, nullptr, wrap, Changed,
                                      &signal->function) != napi_ok) {
    return env.Undefined();
  }
  // From here on the wrap releases the function in all cases.
  wrap->signal_ = signal;
  napi_unref_threadsafe_function(env, signal->function);
  // Not called after Silence; the function lives longer than that.
  wrap->owner_ = plugins::CacheOwner::Create(
      {StringOf(info[0]), StringOf(info[1]), StringOf(info[2])}, [signal] {
        napi_call_threadsafe_function(signal->function, nullptr, napi_tsfn_nonblocking);
      });
  if (!wrap->owner_) return env.Undefined();
  std::unordered_set<PluginCacheWrap*>& caches = DataOf(env).plugin_caches;
  caches.insert(wrap);
  const Napi::Object object = Wrap(DataOf(env).plugin_cache_class, std::move(made));
  if (object.IsEmpty()) {
    caches.erase(wrap);
    return env.Undefined();
  }
  wrap->self_ = Napi::Persistent(object);
  return object;
}

void PluginCacheWrap::Detach() {
  if (!signal_) return;
  if (owner_) {
    owner_->Silence();
    owner_->Close();
    owner_->Abandon();
    owner_ = nullptr;
  }
  napi_release_threadsafe_function(std::exchange(signal_, nullptr)->function, napi_tsfn_abort);
}

void PluginCacheWrap::DetachFromJs(const Napi::CallbackInfo& info) {
  if (!owner_) return;
  Detach();
  DataOf(info.Env()).plugin_caches.erase(this);
  self_.Reset();
}

void PluginCacheWrap::Changed(napi_env env, napi_value changed, void* context, void*) {
  if (env == nullptr || changed == nullptr) return;  // torn down
  if (!static_cast<PluginCacheWrap*>(context)->owner_) return;
  Napi::HandleScope scope(env);
  napi_call_function(env, Napi::Env(env).Undefined(), changed, 0, nullptr, nullptr);
}

Napi::Value PluginCacheWrap::State(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!owner_) return env.Undefined();
  const plugins::CacheOwner::State state = owner_->TakeState();
  const Napi::Object object = Napi::Object::New(env);
  object.Set("opened", Napi::Boolean::New(env, state.opened));
  object.Set("ended", Napi::Boolean::New(env, state.ended));
  object.Set("up", Napi::Boolean::New(env, state.up));
  object.Set("fault", ToJs(env, state.fault));
  const Napi::Array notes = Napi::Array::New(env, state.notes.size());
  for (uint32_t i = 0; i < state.notes.size(); i++) notes.Set(i, state.notes[i]);
  object.Set("notes", notes);
  return object;
}

bool PluginCacheWrap::AttachTo(const Server& server) {
  return owner_ && server.remote_cache() && owner_->Attach(server.remote_cache());
}

void PluginCacheWrap::Close(const Napi::CallbackInfo&) {
  if (owner_) owner_->Close();
}

}  // namespace tritonts

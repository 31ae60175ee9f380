// The owner's side of a response cache outside of the engine (engine/cache/remote_cache.h): a
// JavaScript object that hands over what is asked, and takes what was found. Typed in
// src/addon/native/cache.ts. JS thread of the environment that owns the server.
#pragma once

#include <memory>

#include "engine/cache/remote_cache.h"
#include "engine/server/server.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class CacheWrap : public Wrapped<CacheWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Attaches to the cache of a server. `wake` is called without arguments when there is something
  // to take. It does not keep the event loop alive. Empty if that is impossible.
  static Napi::Value Create(Napi::Env env, std::shared_ptr<Server> server,
                            const Napi::Function& wake);

  ~CacheWrap() { Detach(); }
  void Finalize(napi_env) {}
  // Detaches; idempotent. The environment's cleanup hook also calls it.
  void Detach();

 private:
  static void Wake(napi_env env, napi_value wake, void* context, void* data);

  // Returns { batch, keys }, or undefined.
  Napi::Value Lookups(const Napi::CallbackInfo& info);
  // Returns an array of { key, value }.
  Napi::Value Entries(const Napi::CallbackInfo& info);
  // Arguments: the batch, and an array of Uint8Arrays or undefined, or undefined: it has failed.
  void Answer(const Napi::CallbackInfo& info);
  // Argument: 'open', 'paused' or 'probe'.
  void SetMode(const Napi::CallbackInfo& info);
  void DetachFromJs(const Napi::CallbackInfo& info);

  struct Signal {
    napi_threadsafe_function function = nullptr;
  };
  std::shared_ptr<Server> server_;  // whose cache it is; null once it is detached
  std::shared_ptr<Signal> signal_;
  Napi::ObjectReference self_;  // set until it is detached
};

}  // namespace tritonts

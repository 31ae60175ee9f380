// A response cache that is a plug-in of Triton (plugins/cache_owner.h), for the environment that
// creates its server. Typed in src/addon/native/cache.ts. JS thread of that environment.
#pragma once

#include <memory>

#include "engine/server/server.h"
#include "plugins/cache_owner.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class PluginCacheWrap : public Wrapped<PluginCacheWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Begins to open a plug-in. Arguments: its path, the path of the package's libtritonserver.so,
  // the configuration, and `changed`, which is called without arguments when there is another
  // state. It does not keep the event loop alive. Undefined if the system has no thread for it.
  static Napi::Value Create(const Napi::CallbackInfo& info);

  ~PluginCacheWrap() { Detach(); }
  void Finalize(napi_env) {}
  // Has the plug-in serve a server's cache. False: the system has no threads for that.
  bool AttachTo(const Server& server);
  // Leaves the plug-in alone; idempotent. The environment's cleanup hook also calls it.
  void Detach();

 private:
  struct Signal {
    napi_threadsafe_function function = nullptr;
  };
  static void Changed(napi_env env, napi_value changed, void* context, void* data);

  // Returns { opened, fault, ended, up, notes }.
  Napi::Value State(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  void DetachFromJs(const Napi::CallbackInfo& info);

  std::shared_ptr<plugins::CacheOwner> owner_;  // null once it is detached
  std::shared_ptr<Signal> signal_;
  Napi::ObjectReference self_;  // set until it is detached
};

}  // namespace tritonts

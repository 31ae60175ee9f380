// Runs closures from other threads on an environment's JS thread.
//
// There is one per environment, shared with the threads that post. Each Hold keeps the
// environment's event loop alive; an idle Poster does not. After Close (the environment ends),
// closures are dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "setup.h"

namespace tritonts {

class Poster : public std::enable_shared_from_this<Poster> {
 public:
  using Closure = std::function<void(Napi::Env)>;

  // Null if the environment cannot create one.
  static std::shared_ptr<Poster> Create(Napi::Env env);

  // JS thread: announces a closure.
  void Hold();
  // JS thread: the announced closure will not come.
  void Release();
  // Any thread: runs `closure` once on the JS thread, and ends one Hold. Throws std::bad_alloc
  // without effect if there is no memory. The closure itself must not allocate C++ memory.
  void Post(Closure closure);
  // The same for a closure that nobody announced, which does not keep the event loop alive. False:
  // the environment ends, and the closure was dropped.
  bool PostUnheld(Closure closure);
  // JS thread; called by the environment's cleanup hook.
  void Close();

 private:
  struct Posted {
    Closure closure;
    bool held = true;  // one Hold is for it
  };

  Poster() = default;
  bool Send(std::unique_ptr<Posted> posted);
  static void Call(napi_env env, napi_value, void* context, void* data);

  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> posting_{0};  // threads inside a call of the function
  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  int held_ = 0;  // used only on the JS thread
};

}  // namespace tritonts

// Runs closures of other threads on an environment's JS thread.
//
// One per environment, shared with whoever posts. While something is awaited (Hold), the
// environment's loop stays alive; an idle one does not keep it. After Close (the environment ends)
// closures are dropped: nobody is left to hear them.
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

  // Null where the environment cannot have one.
  static std::shared_ptr<Poster> Create(Napi::Env env);

  // JS thread: a closure is expected.
  void Hold();
  // JS thread: it will not come.
  void Release();
  // Any thread: runs `closure` on the JS thread, once, and ends one Hold. Throws std::bad_alloc,
  // and has done nothing, where there is no memory. The closure itself asks for none of C++.
  void Post(Closure closure);
  // JS thread, from the environment's cleanup hook.
  void Close();

 private:
  Poster() = default;
  static void Call(napi_env env, napi_value, void* context, void* data);

  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> posting_{0};  // threads that are about to call the function
  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  int held_ = 0;  // JS thread
};

}  // namespace tritonts

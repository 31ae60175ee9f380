// The channel of an instance of a Python model (backends/python/channel.h) as the environment that
// started its process holds it. JS thread only.
#pragma once

#include <memory>

#include "backends/python/channel.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class PythonWrap : public Wrapped<PythonWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Number of the inboxes, index, id of the server, options. An object, or the text of why there
  // is none.
  static Napi::Value Create(const Napi::CallbackInfo& info);

  ~PythonWrap() { End(); }
  void Finalize(napi_env) {}
  // Ends the channel; idempotent. Also called by the environment's cleanup hook.
  void End();

 private:
  struct Signal;
  static void Tell(napi_env env, napi_value function, void* context, void* data);

  Napi::Value Descriptor(const Napi::CallbackInfo& info);
  Napi::Value InputsDescriptor(const Napi::CallbackInfo& info);
  void CloseDescriptor(const Napi::CallbackInfo& info);
  // With a function that is told once why the stub cannot be served any more. False: there is no
  // thread. Undefined: the instance is closed.
  Napi::Value Start(const Napi::CallbackInfo& info);
  void Up(const Napi::CallbackInfo& info);
  void AskToEnd(const Napi::CallbackInfo& info);
  void AskReady(const Napi::CallbackInfo& info);
  void Stop(const Napi::CallbackInfo& info);

  std::shared_ptr<python::Channel> channel_;
  napi_threadsafe_function signal_ = nullptr;
  Napi::ObjectReference self_;  // until it has ended
};

}  // namespace tritonts

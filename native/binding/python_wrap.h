// The channel of a Python model's instance (python/channel.h), as the environment that
// started its process sees it. JS thread only.
#pragma once

#include <memory>

#include "python/channel.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class PythonWrap : public Wrapped<PythonWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Arguments: number of the inboxes, index, id of the server, options. Returns an object, or the
  // text of an error.
  static Napi::Value Create(const Napi::CallbackInfo& info);

  ~PythonWrap() { End(); }
  void Finalize(napi_env) {}
  // Ends the channel; idempotent. The environment's cleanup hook also calls it.
  void End();

 private:
  static void Tell(napi_env env, napi_value function, void* context, void* data);

  Napi::Value Descriptor(const Napi::CallbackInfo& info);
  Napi::Value InputsDescriptor(const Napi::CallbackInfo& info);
  void CloseDescriptor(const Napi::CallbackInfo& info);
  // Its argument is a function that is called once if the stub violates the protocol or
  // memory lacks, with the reason. Returns false if the system has no thread, undefined if the
  // instance is closed.
  Napi::Value Start(const Napi::CallbackInfo& info);
  void Up(const Napi::CallbackInfo& info);
  void AskToEnd(const Napi::CallbackInfo& info);
  void AskReady(const Napi::CallbackInfo& info);
  void Stop(const Napi::CallbackInfo& info);

  std::shared_ptr<python::Channel> channel_;
  napi_threadsafe_function signal_ = nullptr;
  Napi::ObjectReference self_;  // set until the channel has ended
};

}  // namespace tritonts

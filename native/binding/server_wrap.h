// A server as JavaScript holds it: typed calls, no policy. JS thread only.
#pragma once

#include <memory>

#include "engine/server/server.h"
#include "poster.h"
#include "setup.h"

namespace tritonts {

class ServerWrap : public Napi::ObjectWrap<ServerWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  static Napi::Value Create(Napi::Env env, std::shared_ptr<Server> server);

  explicit ServerWrap(const Napi::CallbackInfo& info);

 private:
  // Runs `call(done)`, where done(args…) later calls the JS function at `info[index]`.
  std::shared_ptr<Napi::FunctionReference> Callback(const Napi::CallbackInfo& info, size_t index);

  Napi::Value Id(const Napi::CallbackInfo& info);
  Napi::Value Attach(const Napi::CallbackInfo& info);
  void ReadFolder(const Napi::CallbackInfo& info);
  void Open(const Napi::CallbackInfo& info);
  void Start(const Napi::CallbackInfo& info);
  void ReturnMemory(const Napi::CallbackInfo& info);
  void CancelLoads(const Napi::CallbackInfo& info);
  void Publish(const Napi::CallbackInfo& info);
  void Withdraw(const Napi::CallbackInfo& info);
  Napi::Value Read(const Napi::CallbackInfo& info);
  Napi::Value ModelNames(const Napi::CallbackInfo& info);
  void Retire(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  void Join(const Napi::CallbackInfo& info);
  Napi::Value VersionStatistics(const Napi::CallbackInfo& info);
  Napi::Value VersionInfo(const Napi::CallbackInfo& info);
  Napi::Value InFlightBytes(const Napi::CallbackInfo& info);

  std::shared_ptr<Server> server_;
};

}  // namespace tritonts

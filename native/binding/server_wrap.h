// A server, as JavaScript sees it: typed calls without policy. JS thread only.
#pragma once

#include <functional>
#include <memory>
#include <unordered_set>

#include "engine/server/server.h"
#include "poster.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class ServerWrap : public Wrapped<ServerWrap> {
 public:
  ~ServerWrap();
  static Napi::Function Define(Napi::Env env);
  // Undefined if the environment is ending, or if `make` returns null.
  static Napi::Value Create(Napi::Env env, const std::function<std::shared_ptr<Server>()>& make);
  void Finalize(napi_env) {}

 private:
  Napi::Value Id(const Napi::CallbackInfo& info);
  Napi::Value Attach(const Napi::CallbackInfo& info);
  void ReadFolder(const Napi::CallbackInfo& info);
  void Open(const Napi::CallbackInfo& info);
  void OpenRuntime(const Napi::CallbackInfo& info);
  void Start(const Napi::CallbackInfo& info);
  Napi::Value AddEnsemble(const Napi::CallbackInfo& info);
  Napi::Value BindEnsemble(const Napi::CallbackInfo& info);
  void ReturnMemory(const Napi::CallbackInfo& info);
  void CancelLoads(const Napi::CallbackInfo& info);
  void FindGpus(const Napi::CallbackInfo& info);
  void FindNvml(const Napi::CallbackInfo& info);
  void WatchGpus(const Napi::CallbackInfo& info);
  void Publish(const Napi::CallbackInfo& info);
  void Withdraw(const Napi::CallbackInfo& info);
  Napi::Value Read(const Napi::CallbackInfo& info);
  Napi::Value ResolveModel(const Napi::CallbackInfo& info);
  Napi::Value ModelKeys(const Napi::CallbackInfo& info);
  void Retire(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  void Join(const Napi::CallbackInfo& info);
  Napi::Value VersionStatistics(const Napi::CallbackInfo& info);
  Napi::Value Metrics(const Napi::CallbackInfo& info);
  Napi::Value Batches(const Napi::CallbackInfo& info);
  Napi::Value VersionInfo(const Napi::CallbackInfo& info);
  Napi::Value Resources(const Napi::CallbackInfo& info);
  Napi::Value Cache(const Napi::CallbackInfo& info);
  Napi::Value AttachCache(const Napi::CallbackInfo& info);
  Napi::Value InFlightBytes(const Napi::CallbackInfo& info);
  Napi::Value RegisterRegion(const Napi::CallbackInfo& info);
  Napi::Value FindRegion(const Napi::CallbackInfo& info);
  Napi::Value Regions(const Napi::CallbackInfo& info);
  Napi::Value MapRegion(const Napi::CallbackInfo& info);
  Napi::Value UnregisterRegion(const Napi::CallbackInfo& info);
  // server_traces.cc
  void SetTrace(const Napi::CallbackInfo& info);
  Napi::Value SampleTrace(const Napi::CallbackInfo& info);
  void NoteTrace(const Napi::CallbackInfo& info);
  void EndTrace(const Napi::CallbackInfo& info);
  Napi::Value TakeTraces(const Napi::CallbackInfo& info);
  Napi::Value TraceCounts(const Napi::CallbackInfo& info);

  std::shared_ptr<Server> server_;
  // Traces that this environment has begun and not ended. They end with it.
  std::unordered_set<uint64_t> traces_;
};

}  // namespace tritonts

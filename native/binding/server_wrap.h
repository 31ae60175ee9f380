// A server, as JavaScript sees it: typed calls without policy. JS thread only.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "../device/gpu_regions.h"
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
  void ChangeInstances(const Napi::CallbackInfo& info);
  Napi::Value FateOfSequence(const Napi::CallbackInfo& info);
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
  Napi::Value IsIdle(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  void Join(const Napi::CallbackInfo& info);
  Napi::Value VersionStatistics(const Napi::CallbackInfo& info);
  Napi::Value Metrics(const Napi::CallbackInfo& info);
  Napi::Value Batches(const Napi::CallbackInfo& info);
  Napi::Value VersionInfo(const Napi::CallbackInfo& info);
  Napi::Value Resources(const Napi::CallbackInfo& info);
  Napi::Value Cache(const Napi::CallbackInfo& info);
  Napi::Value AttachCache(const Napi::CallbackInfo& info);
  Napi::Value AttachPluginCache(const Napi::CallbackInfo& info);
  void OwnPlugins(const Napi::CallbackInfo& info);
  Napi::Value InFlightBytes(const Napi::CallbackInfo& info);
  // server_regions.cc
  Napi::Value RegisterRegion(const Napi::CallbackInfo& info);
  void RegisterCudaRegion(const Napi::CallbackInfo& info);
  Napi::Value ReadsRegion(const Napi::CallbackInfo& info);
  Napi::Value WritesRegion(const Napi::CallbackInfo& info);
  Napi::Value HoldRegion(const Napi::CallbackInfo& info);
  void ReleaseRegion(const Napi::CallbackInfo& info);
  void ReadRegion(const Napi::CallbackInfo& info);
  void WriteRegion(const Napi::CallbackInfo& info);
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

  // The region that a value names; null: there is none.
  std::shared_ptr<const Region> RegionOf(const Napi::Value& id) const;
  // A range of a region. NOT_FOUND: there is no such region.
  StatusOr<Buffer> RangeOf(const Napi::Value& id, const Napi::Value& offset, uint64_t size) const;
  // Null: the system has no thread for them.
  std::shared_ptr<device::GpuRegions> GpuRegionsOfServer();
  // Copies between memory of a GPU and of the host. `done` gets the status.
  template <typename Done>
  void Copy(Buffer from, Buffer to, const Done& done);

  std::shared_ptr<Server> server_;
  // Regions that this environment uses, and how often, by id. They may be unregistered.
  struct Held {
    std::shared_ptr<const Region> region;
    uint32_t count = 0;
  };
  std::unordered_map<uint32_t, Held> held_;
  std::weak_ptr<device::GpuRegions> gpu_regions_;  // the server has a reference
  // Traces that this environment has begun and not ended. They end with it.
  std::unordered_set<uint64_t> traces_;
};

}  // namespace tritonts

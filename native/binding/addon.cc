// The addon's entry: defines what src/addon/native.ts types, and ends an environment in order.
#include "addon.h"

#include <algorithm>
#include <random>

#include "../backends/registry.h"
#include "../device/cuda.h"
#include "../engine/clock.h"
#include "../engine/exit.h"
#include "../platform/cores.h"
#include "convert.h"
#include "counts.h"
#include "port_wrap.h"
#include "server_wrap.h"

namespace tritonts {

namespace {

// Running batches of all servers get this long together after they were asked to end.
constexpr uint64_t kEnvironmentEndMs = 2500;
// And this long although the process' own time is over.
constexpr uint64_t kGraceMs = 100;
constexpr uint64_t kMs = 1'000'000;

// The environment ends: its ports are cut off, and the servers it owns are closed as by
// close({ timeoutMs: 0 }). What does not return in time is left behind.
void CleanUp(AddonData* data) {
  for (PortWrap* port : data->ports) port->Detach();
  data->ports.clear();
  for (const auto& server : data->owned) server->Close(0, [](std::vector<std::string>) {});
  const uint64_t begin = NowNs();
  // A worker that is ended by the process' exit has what is left of the time for that.
  const uint64_t deadline =
      std::min(begin + kEnvironmentEndMs * kMs, std::max(ExitDeadlineNs(), begin + kGraceMs * kMs));
  for (const auto& server : data->owned) {
    const uint64_t now = NowNs();
    if (server->WaitClosed(now < deadline ? (deadline - now) / kMs : 0)) server->Join();
  }
  data->owned.clear();
  data->poster->Close();
}

Napi::Value CreateServer(const Napi::CallbackInfo& info) {
  ServerOptions options;
  options.load_concurrency = static_cast<uint32_t>(NumberOf(info[0]));
  options.max_in_flight_bytes = static_cast<uint64_t>(NumberOf(info[1]));
  options.spin_cores = static_cast<uint32_t>(NumberOf(info[2]));
  auto server = Server::Create(options);
  if (!server) return info.Env().Undefined();
  DataOf(info.Env()).owned.push_back(server);
  return ServerWrap::Create(info.Env(), std::move(server));
}

Napi::Value FindServer(const Napi::CallbackInfo& info) {
  auto server = Server::Find(static_cast<uint32_t>(NumberOf(info[0])));
  return server ? ServerWrap::Create(info.Env(), std::move(server)) : info.Env().Undefined();
}

Napi::Value Cores(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), platform::AvailableCores());
}

Napi::Value Memory(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(platform::AvailableMemory()));
}

// { devices: string[], reason: string }
Napi::Value Gpus(const Napi::CallbackInfo& info) {
  const device::CudaDevices& found = device::FindCudaDevices();
  Napi::Array names = Napi::Array::New(info.Env(), found.names.size());
  for (uint32_t i = 0; i < found.names.size(); i++) names.Set(i, found.names[i]);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("devices", names);
  object.Set("reason", found.reason);
  return object;
}

Napi::Value Backends(const Napi::CallbackInfo& info) {
  const std::vector<std::string> names = BackendNames();
  Napi::Array array = Napi::Array::New(info.Env(), names.size());
  for (uint32_t i = 0; i < names.size(); i++) array.Set(i, names[i]);
  return array;
}

// Tells this engine from that of another copy of the addon in the process.
Napi::Value EngineId(const Napi::CallbackInfo& info) {
  static const uint32_t id = std::random_device()();
  return Napi::Number::New(info.Env(), id);
}

// The process exits with info[0]: nothing new starts, and what runs is asked to end.
void PrepareForExit(const Napi::CallbackInfo& info) {
  PrepareExit(static_cast<int>(NumberOf(info[0])));
  Server::TerminateAll();
  WaitForRuntimes();
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  auto* data = new AddonData();
  env.SetInstanceData<AddonData>(data);
  data->port_class = Napi::Persistent(PortWrap::Define(env));
  data->server_class = Napi::Persistent(ServerWrap::Define(env));
  data->poster = Poster::Create(env);
  env.AddCleanupHook(CleanUp, data);
  exports.Set("createServer", Napi::Function::New<CreateServer>(env));
  exports.Set("findServer", Napi::Function::New<FindServer>(env));
  exports.Set("cores", Napi::Function::New<Cores>(env));
  exports.Set("memory", Napi::Function::New<Memory>(env));
  exports.Set("gpus", Napi::Function::New<Gpus>(env));
  exports.Set("backends", Napi::Function::New<Backends>(env));
  exports.Set("engineId", Napi::Function::New<EngineId>(env));
  exports.Set("prepareExit", Napi::Function::New<PrepareForExit>(env));
  DefineCounts(env, exports);
  return exports;
}

}  // namespace

AddonData& DataOf(Napi::Env env) {
  return *env.GetInstanceData<AddonData>();
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, Initialize)

}  // namespace tritonts

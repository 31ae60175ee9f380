// The addon's entry: defines what src/addon/native.ts types, and ends an environment in order.
#include "addon.h"

#include <algorithm>
#include <random>

#include "../backends/registry.h"
#include "../device/cuda.h"
#include "../platform/cores.h"
#include "../platform/dynamic_library.h"
#include "bytes_wrap.h"
#include "convert.h"
#include "counts.h"
#include "engine/base/clock.h"
#include "engine/base/exit.h"
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

// Undefined without memory.
Napi::Value KeepBytes(const Napi::CallbackInfo& info) {
  return BytesWrap::Create(info.Env(), info[0]);
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

// Throws where the addon cannot work in this environment: then nothing of it is left there.
Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  const auto refuse = [&](const char* reason) {
    if (!env.IsExceptionPending()) Napi::Error::New(env, reason).ThrowAsJavaScriptException();
    return exports;
  };
  // The engine belongs to the process: it outlives the worker that loaded it.
  if (!platform::DynamicLibrary::Pin(reinterpret_cast<const void*>(&DataOf))) {
    return refuse("the system does not keep the addon loaded");
  }
  auto data = std::make_unique<AddonData>();
  data->poster = Poster::Create(env);
  if (!data->poster) return refuse("the environment has no thread-safe function for the addon");
  const Napi::Function port = PortWrap::Define(env);
  const Napi::Function server = ServerWrap::Define(env);
  const Napi::Function bytes = BytesWrap::Define(env);
  if (port.IsEmpty() || server.IsEmpty() || bytes.IsEmpty()) {
    data->poster->Close();
    return refuse("the environment cannot have the addon's classes");
  }
  data->port_class = Napi::Persistent(port);
  data->server_class = Napi::Persistent(server);
  data->bytes_class = Napi::Persistent(bytes);
  AddonData* kept = data.release();  // the environment's
  env.SetInstanceData<AddonData>(kept);
  env.AddCleanupHook(CleanUp, kept);
  exports.Set("createServer", Napi::Function::New<CreateServer>(env));
  exports.Set("findServer", Napi::Function::New<FindServer>(env));
  exports.Set("keepBytes", Napi::Function::New<KeepBytes>(env));
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

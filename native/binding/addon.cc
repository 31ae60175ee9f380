// The addon's entry point: defines the exports typed in src/addon/native/addon.ts, and ends an
// environment in order.
#include "addon.h"

#include <algorithm>
#include <cstdint>

#include "../backends/find_backend.h"
#include "../platform/cores.h"
#include "../platform/dynamic_library.h"
#include "agent_wrap.h"
#include "bytes_wrap.h"
#include "c_api/api.h"
#include "cache_wrap.h"
#include "convert.h"
#include "counts.h"
#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/insist.h"
#include "engine/version/occupied.h"
#include "gpus.h"
#include "guard.h"
#include "inbox/inboxes.h"
#include "instance_wrap.h"
#include "plugin_cache_wrap.h"
#include "plugin_owner.h"
#include "plugins/owner.h"
#include "port_wrap.h"
#include "python/shared_inputs.h"
#include "python_wrap.h"
#include "server_wrap.h"

namespace tritonts {

namespace {

// The time for running batches of all servers to end after they were asked to.
constexpr uint64_t kEnvironmentEndMs = 2500;
// The minimum, even if the process' own time for exiting is over.
constexpr uint64_t kGraceMs = 100;
constexpr uint64_t kMs = 1'000'000;

// Closes the inboxes with this number and removes the number. Their environments no longer use
// them.
void Release(uint32_t number) {
  if (const auto inboxes = ReservedInboxes::Get().Find(number)) {
    for (const auto& inbox : inboxes->list) inbox->Close();
  }
  ReservedInboxes::Get().Forget(number);
}

// The environment ends: its ports are detached, and its servers are closed as by close({ timeoutMs:
// 0 }). Runs that do not return in time are abandoned.
void CleanUp(AddonData* data) {
  for (PortWrap* port : data->ports) port->Detach();
  data->ports.clear();
  for (InstanceWrap* instance : data->instances) instance->Detach();
  data->instances.clear();
  for (PythonWrap* python : data->pythons) python->End();
  data->pythons.clear();
  // Nobody answers look-ups any more: requests that wait for one go on.
  for (CacheWrap* cache : data->caches) cache->Detach();
  data->caches.clear();
  for (PluginCacheWrap* cache : data->plugin_caches) cache->Detach();
  data->plugin_caches.clear();
  // Nor do plug-ins get answers.
  for (const auto& [server, answers] : data->plugin_answers) {
    plugins::RemoveOwner(server);
    // JavaScript runs no more.
    answers->messages->Close();
  }
  data->plugin_answers.clear();
  Insist([&] { data->children.End(); });
  for (const auto& server : data->owned) {
    Insist([&] { server->Close(0, [](std::vector<std::string>) {}); });
  }
  const uint64_t begin = NowNs();
  // A worker that the exiting process ends gets what remains of the exit's time.
  const uint64_t deadline =
      std::min(begin + kEnvironmentEndMs * kMs, std::max(ExitDeadlineNs(), begin + kGraceMs * kMs));
  for (const auto& server : data->owned) {
    const uint64_t now = NowNs();
    if (server->WaitClosed(now < deadline ? (deadline - now) / kMs : 0)) server->Join();
  }
  data->owned.clear();
  // JavaScript may have been terminated anywhere, even before it received the number.
  for (const uint32_t number : data->reserved) Insist([&] { Release(number); });
  data->reserved.clear();
  data->poster->Close();
}

// The rate limiter of a server; null: it has none. `given`: the resources that its options give.
std::shared_ptr<RateLimiter> RateLimiterOf(const Napi::Value& given) {
  if (!given.IsArray()) return nullptr;
  const Napi::Array array = given.As<Napi::Array>();
  std::vector<RateLimiter::Given> resources;
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object resource = array.Get(i).As<Napi::Object>();
    resources.push_back({StringOf(resource.Get("name")),
                         static_cast<uint64_t>(NumberOf(resource.Get("count"))),
                         {}});
    const Napi::Value device = resource.Get("device");
    if (device.IsNumber()) resources.back().device = static_cast<int>(NumberOf(device));
  }
  return std::make_shared<RateLimiter>(std::move(resources));
}

// The response cache of a server; null: it has none.
std::shared_ptr<LocalCache> CacheOf(const Napi::Value& given) {
  if (!given.IsObject()) return nullptr;
  const Napi::Object object = given.As<Napi::Object>();
  constexpr double kNsOfMs = 1e6;
  const Napi::Value ttl = object.Get("ttlMs");
  const double ttl_ns = ttl.IsNumber() ? ttl.As<Napi::Number>().DoubleValue() * kNsOfMs : 0;
  if (!object.Get("size").IsNumber()) return nullptr;
  return std::make_shared<LocalCache>(static_cast<uint64_t>(NumberOf(object.Get("size"))),
                                      static_cast<uint64_t>(ttl_ns));
}

// The cache of a server outside of the engine; null: it has none.
std::shared_ptr<RemoteCache> RemoteCacheOf(const Napi::Value& given) {
  if (!given.IsObject()) return nullptr;
  const Napi::Object object = given.As<Napi::Object>();
  if (!object.Get("timeoutMs").IsNumber()) return nullptr;
  RemoteCache::Options options;
  options.timeout_ns = static_cast<uint64_t>(NumberOf(object.Get("timeoutMs"))) * kMs;
  options.most_bytes = static_cast<uint64_t>(NumberOf(object.Get("mostBytes")));
  options.most_queued = static_cast<uint64_t>(NumberOf(object.Get("mostQueued")));
  options.plugin = FlagOf(object.Get("plugin"));
  return std::make_shared<RemoteCache>(options);
}

Napi::Value CreateServer(const Napi::CallbackInfo& info) {
  ServerOptions options;
  options.load_concurrency = static_cast<uint32_t>(NumberOf(info[0]));
  options.max_in_flight_bytes = static_cast<uint64_t>(NumberOf(info[1]));
  options.spin_cores = static_cast<uint32_t>(NumberOf(info[2]));
  options.rate_limiter = RateLimiterOf(info[3]);
  options.cache = CacheOf(info[4]);
  options.remote = RemoteCacheOf(info[4]);
  if (info[4].IsObject()) {
    options.coalesce = FlagOf(info[4].As<Napi::Object>().Get("coalesce"));
  }
  options.namespaces = FlagOf(info[5]);
  std::vector<std::shared_ptr<Server>>& owned = DataOf(info.Env()).owned;
  return ServerWrap::Create(info.Env(), [&] {
    // Reserve first, so that no server is created without an owner.
    owned.reserve(owned.size() + 1);
    auto server = Server::Create(options);
    if (server) owned.push_back(server);
    return server;
  });
}

Napi::Value FindServer(const Napi::CallbackInfo& info) {
  const auto id = static_cast<uint32_t>(NumberOf(info[0]));
  return ServerWrap::Create(info.Env(), [id] { return Server::Find(id); });
}

// Stores the function that creates the out-of-memory error.
void OnNoMemory(const Napi::CallbackInfo& info) {
  DataOf(info.Env()).no_memory = Napi::Persistent(info[0].As<Napi::Function>());
}

Napi::Value KeepBytes(const Napi::CallbackInfo& info) {
  return BytesWrap::Create(info.Env(), info[0]);
}

Napi::Value Cores(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), platform::AvailableCores());
}

Napi::Value WholeCores(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), platform::WholeCores());
}

Napi::Value Memory(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(platform::AvailableMemory()));
}

// Reserves inboxes for a model's instances. Arguments: model, names, concurrent batches, and the
// runner, "thread" or "process".
Napi::Value ReserveInstances(const Napi::CallbackInfo& info) {
  std::vector<std::string> names;
  if (info[1].IsArray()) {
    const Napi::Array array = info[1].As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); i++) names.push_back(StringOf(array.Get(i)));
  }
  const auto concurrency = static_cast<uint32_t>(std::clamp<int64_t>(NumberOf(info[2]), 1, 1024));
  const std::string runner = StringOf(info[3]);
  std::shared_ptr<InputSource> inputs;
  if (runner == "process") inputs = std::make_shared<python::SharedInputs>();
  std::vector<uint32_t>& reserved = DataOf(info.Env()).reserved;
  // Reserve capacity first, so that no reserved number is lost.
  reserved.reserve(reserved.size() + 1);
  reserved.push_back(ReservedInboxes::Get().Reserve(StringOf(info[0]), names, concurrency, runner,
                                                    std::move(inputs)));
  return Napi::Number::New(info.Env(), reserved.back());
}

// Attaches this environment to an instance. Arguments: number, index, wake, whether it keeps the
// loop alive, cores.
Napi::Value AttachInstance(const Napi::CallbackInfo& info) {
  const auto inboxes = ReservedInboxes::Get().Find(static_cast<uint32_t>(NumberOf(info[0])));
  const auto index = static_cast<size_t>(NumberOf(info[1]));
  if (!inboxes || index >= inboxes->list.size() || !info[2].IsFunction())
    return info.Env().Undefined();
  const Napi::Value made =
      InstanceWrap::Create(info.Env(), inboxes->list[index], info[2].As<Napi::Function>(),
                           FlagOf(info[3]), static_cast<uint32_t>(NumberOf(info[4])));
  return made.IsEmpty() ? info.Env().Undefined() : made;
}

// The version of these instances ends: instances without a thread no longer delay that. With
// info[1], their running, waiting and later batches fail.
void SettleInstances(const Napi::CallbackInfo& info) {
  const auto inboxes = ReservedInboxes::Get().Find(static_cast<uint32_t>(NumberOf(info[0])));
  if (!inboxes) return;
  for (const auto& inbox : inboxes->list) {
    inbox->Settle();
    if (FlagOf(info[1])) inbox->Terminate();
  }
}

void ReleaseInstances(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint32_t>(NumberOf(info[0]));
  Release(number);
  std::erase(DataOf(info.Env()).reserved, number);
}

// Returns the upper bounds of the latency histograms, in nanoseconds.
Napi::Value LatencyBoundsNs(const Napi::CallbackInfo& info) {
  const auto& bounds = LatencyHistogram::kBoundsNs;
  Napi::Array array = Napi::Array::New(info.Env(), bounds.size());
  for (uint32_t i = 0; i < bounds.size(); i++) {
    array.Set(i, Napi::Number::New(info.Env(), static_cast<double>(bounds[i])));
  }
  return array;
}

Napi::Value Backends(const Napi::CallbackInfo& info) {
  const std::vector<std::string> names = BackendNames();
  Napi::Array array = Napi::Array::New(info.Env(), names.size());
  for (uint32_t i = 0; i < names.size(); i++) array.Set(i, names[i]);
  return array;
}

// Distinguishes this engine from another copy of the addon in the process.
Napi::Value EngineId(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), c_api::EngineId());
}

// The table of the C API: its version, its address, and an external value with the address and the
// type tag of the header. The latter is absent where the runtime has no tags for external values.
Napi::Value NativeApi(const Napi::CallbackInfo& info) {
  constexpr napi_type_tag tag = {TRITONTS_API_TAG_LOWER, TRITONTS_API_TAG_UPPER};
  // Node-API takes addresses without a const.
  auto* const table = const_cast<tritonts_api*>(c_api::Table());
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(table));
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("version", Napi::Number::New(info.Env(), table->version));
  object.Set("address", Napi::BigInt::New(info.Env(), address));
  napi_value external = nullptr;
  if (napi_create_external(info.Env(), table, nullptr, nullptr, &external) == napi_ok &&
      napi_type_tag_object(info.Env(), external, &tag) == napi_ok) {
    object.Set("external", Napi::Value(info.Env(), external));
  }
  return object;
}

// Detaches the ArrayBuffer info[0] and frees its memory.
void DropMemory(const Napi::CallbackInfo& info) {
  // A buffer that must not be detached stays as it is; V8 frees it later.
  napi_detach_arraybuffer(info.Env(), info[0]);
}

// Registers the process info[0], which this environment has started.
void AddChild(const Napi::CallbackInfo& info) {
  DataOf(info.Env()).children.Add(static_cast<int>(NumberOf(info[0])));
}

// Calls the function info[0], which starts processes, and returns its result. A worker may be
// terminated inside it, before JavaScript gets the process ids: so they are read from the system.
Napi::Value KeepChildren(const Napi::CallbackInfo& info) {
  const platform::NewChildren started;
  napi_value result = nullptr;
  const napi_status status =
      napi_call_function(info.Env(), info.Env().Undefined(), info[0], 0, nullptr, &result);
  Insist([&] {
    for (const int process : started.Find()) DataOf(info.Env()).children.Add(process);
  });
  return status == napi_ok ? Napi::Value(info.Env(), result) : Napi::Value();
}

// Binds this thread for good. Returns why it is impossible, or ''.
Napi::Value BindThread(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), platform::BindThread(HostPolicyOf(info[0])));
}

// Calls the function info[1] on this thread, bound to info[0], so that the processes that it starts
// are bound. Returns why that is impossible, in which case the function is not called, or ''.
Napi::Value UnderHostPolicy(const Napi::CallbackInfo& info) {
  const platform::ScopedHostPolicy bound(HostPolicyOf(info[0]));
  if (bound.fault().empty()) {
    napi_value result = nullptr;
    // What it throws stays pending.
    const napi_status called =
        napi_call_function(info.Env(), info.Env().Undefined(), info[1], 0, nullptr, &result);
    if (called != napi_ok) return {};
  }
  return Napi::String::New(info.Env(), bound.fault());
}

// Unregisters the process info[0], for which the environment has waited.
void RemoveChild(const Napi::CallbackInfo& info) {
  DataOf(info.Env()).children.Remove(static_cast<int>(NumberOf(info[0])));
}

// The process exits with info[0]: no new work starts, and running work is asked to end.
void PrepareForExit(const Napi::CallbackInfo& info) {
  PrepareExit(static_cast<int>(NumberOf(info[0])));
  Server::TerminateAll();
  // Their threads of JavaScript answer no more.
  plugins::EndQuestions();
  WaitForRuntimes();
  // Plug-ins may have written until now.
  LogLastMessages(info.Env());
}

// Creates the environment's state. Null, with a JavaScript error thrown, if that is impossible; the
// environment is then unchanged. Throws std::bad_alloc, also without effect.
std::unique_ptr<AddonData> MakeData(Napi::Env env) {
  // The engine belongs to the process and outlives the worker that loaded it.
  if (!platform::DynamicLibrary::Pin(reinterpret_cast<const void*>(&DataOf))) {
    ThrowFault(env, "cannot keep the addon loaded");
    return nullptr;
  }
  auto data = std::make_unique<AddonData>();
  const Napi::Function port = PortWrap::Define(env);
  const Napi::Function server = ServerWrap::Define(env);
  const Napi::Function bytes = BytesWrap::Define(env);
  const Napi::Function instance = InstanceWrap::Define(env);
  const Napi::Function python = PythonWrap::Define(env);
  const Napi::Function cache = CacheWrap::Define(env);
  const Napi::Function plugin_cache = PluginCacheWrap::Define(env);
  const Napi::Function agent = AgentWrap::Define(env);
  if (port.IsEmpty() || server.IsEmpty() || bytes.IsEmpty() || instance.IsEmpty() ||
      python.IsEmpty() || cache.IsEmpty() || plugin_cache.IsEmpty() || agent.IsEmpty()) {
    ThrowFault(env, "cannot create the addon's classes");
    return nullptr;
  }
  data->port_class = Napi::Persistent(port);
  data->server_class = Napi::Persistent(server);
  data->bytes_class = Napi::Persistent(bytes);
  data->instance_class = Napi::Persistent(instance);
  data->python_class = Napi::Persistent(python);
  data->cache_class = Napi::Persistent(cache);
  data->plugin_cache_class = Napi::Persistent(plugin_cache);
  data->agent_class = Napi::Persistent(agent);
  // Last, because nothing may throw once the environment has it.
  data->poster = Poster::Create(env);
  if (!data->poster) {
    ThrowFault(env, "cannot create a thread-safe function");
    return nullptr;
  }
  return data;
}

void DefineExports(Napi::Env env, Napi::Object exports) {
  std::unique_ptr<AddonData> data = MakeData(env);
  if (!data) return;
  const napi_cleanup_hook hook = [](void* known) { CleanUp(static_cast<AddonData*>(known)); };
  AddonData* kept = data.release();  // now owned by the environment
  env.SetInstanceData<AddonData>(kept);
  napi_add_env_cleanup_hook(env, hook, kept);
  Export<CreateServer>(env, exports, "createServer");
  Export<FindServer>(env, exports, "findServer");
  Export<KeepBytes>(env, exports, "keepBytes");
  Export<ReserveInstances>(env, exports, "reserveInstances");
  Export<AttachInstance>(env, exports, "attachInstance");
  Export<SettleInstances>(env, exports, "settleInstances");
  Export<ReleaseInstances>(env, exports, "releaseInstances");
  Export<PythonWrap::Create>(env, exports, "createPython");
  Export<PluginCacheWrap::Create>(env, exports, "openPluginCache");
  Export<AgentWrap::Create>(env, exports, "createAgentModel");
  Export<KeepChildren>(env, exports, "keepChildren");
  Export<BindThread>(env, exports, "bindThread");
  Export<UnderHostPolicy>(env, exports, "underHostPolicy");
  Export<AddChild>(env, exports, "addChild");
  Export<RemoveChild>(env, exports, "removeChild");
  Export<Cores>(env, exports, "cores");
  Export<WholeCores>(env, exports, "wholeCores");
  Export<Memory>(env, exports, "memory");
  Export<LatencyBoundsNs>(env, exports, "latencyBoundsNs");
  ExportGpus(env, exports);
  ExportPlugins(env, exports);
  Export<Backends>(env, exports, "backends");
  Export<DropMemory>(env, exports, "dropMemory");
  Export<EngineId>(env, exports, "engineId");
  Export<NativeApi>(env, exports, "nativeApi");
  Export<PrepareForExit>(env, exports, "prepareExit");
  Export<OnNoMemory>(env, exports, "onNoMemory");
  DefineCounts(env, exports);
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  plugins::NoteJsThread();
  Occupied::Stay();
  BeginCounts();
  return {env, Guarded(env, [&]() -> napi_value {
            DefineExports(env, exports);
            return exports;
          })};
}

}  // namespace

AddonData& DataOf(Napi::Env env) {
  return *env.GetInstanceData<AddonData>();
}

void ThrowNoMemory(Napi::Env env) {
  napi_value error = nullptr;
  // While the addon is being loaded there is no data yet.
  const auto* data = env.GetInstanceData<AddonData>();
  if (data && !data->no_memory.IsEmpty() &&
      napi_call_function(env, env.Undefined(), data->no_memory.Value(), 0, nullptr, &error) ==
          napi_ok) {
    napi_throw(env, error);
  } else {
    ThrowFault(env, "no memory");
  }
}

void ThrowFault(Napi::Env env, const char* what) {
  if (!env.IsExceptionPending()) napi_throw_error(env, nullptr, what);
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, Initialize)

}  // namespace tritonts

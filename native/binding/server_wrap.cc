#include "server_wrap.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../backends/find_backend.h"
#include "../device/cuda.h"
#include "../device/gpu_watch.h"
#include "addon.h"
#include "awaited.h"
#include "convert.h"
#include "convert_ensemble.h"
#include "gpus.h"
#include "plugin_owner.h"
#include "port_wrap.h"

namespace tritonts {

namespace {

// The backend that info[0] names; null, with a JavaScript error thrown, if there is none.
Backend* BackendOf(const Napi::CallbackInfo& info) {
  Backend* const backend = FindBackend(StringOf(info[0]));
  if (!backend) Napi::TypeError::New(info.Env(), "unknown backend").ThrowAsJavaScriptException();
  return backend;
}

}  // namespace

Napi::Function ServerWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"id", &ServerWrap::Id},
      {"attach", &ServerWrap::Attach},
      {"readFolder", &ServerWrap::ReadFolder},
      {"open", &ServerWrap::Open},
      {"openRuntime", &ServerWrap::OpenRuntime},
      {"start", &ServerWrap::Start},
      {"changeInstances", &ServerWrap::ChangeInstances},
      {"addEnsemble", &ServerWrap::AddEnsemble},
      {"bindEnsemble", &ServerWrap::BindEnsemble},
      {"returnMemory", &ServerWrap::ReturnMemory},
      {"cancelLoads", &ServerWrap::CancelLoads},
      {"findGpus", &ServerWrap::FindGpus},
      {"findNvml", &ServerWrap::FindNvml},
      {"watchGpus", &ServerWrap::WatchGpus},
      {"publish", &ServerWrap::Publish},
      {"withdraw", &ServerWrap::Withdraw},
      {"read", &ServerWrap::Read},
      {"resolveModel", &ServerWrap::ResolveModel},
      {"modelKeys", &ServerWrap::ModelKeys},
      {"retire", &ServerWrap::Retire},
      {"isIdle", &ServerWrap::IsIdle},
      {"close", &ServerWrap::Close},
      {"join", &ServerWrap::Join},
      {"statistics", &ServerWrap::VersionStatistics},
      {"metrics", &ServerWrap::Metrics},
      {"batches", &ServerWrap::Batches},
      {"sequenceFate", &ServerWrap::FateOfSequence},
      {"info", &ServerWrap::VersionInfo},
      {"inFlightBytes", &ServerWrap::InFlightBytes},
      {"resources", &ServerWrap::Resources},
      {"cache", &ServerWrap::Cache},
      {"attachCache", &ServerWrap::AttachCache},
      {"attachPluginCache", &ServerWrap::AttachPluginCache},
      {"ownPlugins", &ServerWrap::OwnPlugins},
      {"registerRegion", &ServerWrap::RegisterRegion},
      {"findRegion", &ServerWrap::FindRegion},
      {"registerCudaRegion", &ServerWrap::RegisterCudaRegion},
      {"readsRegion", &ServerWrap::ReadsRegion},
      {"writesRegion", &ServerWrap::WritesRegion},
      {"holdRegion", &ServerWrap::HoldRegion},
      {"releaseRegion", &ServerWrap::ReleaseRegion},
      {"readRegion", &ServerWrap::ReadRegion},
      {"writeRegion", &ServerWrap::WriteRegion},
      {"regions", &ServerWrap::Regions},
      {"mapRegion", &ServerWrap::MapRegion},
      {"unregisterRegion", &ServerWrap::UnregisterRegion},
      {"setTrace", &ServerWrap::SetTrace},
      {"sampleTrace", &ServerWrap::SampleTrace},
      {"noteTrace", &ServerWrap::NoteTrace},
      {"endTrace", &ServerWrap::EndTrace},
      {"takeTraces", &ServerWrap::TakeTraces},
      {"traceCounts", &ServerWrap::TraceCounts},
  };
  return DefineWrapped(env, "NativeServer", kMethods);
}

Napi::Value ServerWrap::Create(Napi::Env env,
                               const std::function<std::shared_ptr<Server>()>& make) {
  auto wrap = std::make_unique<ServerWrap>();
  wrap->server_ = make();
  if (!wrap->server_) return env.Undefined();
  return Wrap(DataOf(env).server_class, std::move(wrap));
}

Napi::Value ServerWrap::Id(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), server_->id());
}

Napi::Value ServerWrap::Attach(const Napi::CallbackInfo& info) {
  return PortWrap::Create(info.Env(), server_, info[0].As<Napi::Function>(), FlagOf(info[1]));
}

void ServerWrap::ReadFolder(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 5);
  FolderLimits limits;
  limits.config_bytes = static_cast<uint64_t>(NumberOf(info[2]));
  if (info[3].IsArray()) {
    const Napi::Array roots = info[3].As<Napi::Array>();
    for (uint32_t i = 0; i < roots.Length(); i++) {
      limits.link_roots.push_back(StringOf(roots.Get(i)));
    }
  }
  limits.checked_stamp = StringOf(info[4]);
  server_->ReadFolder(
      StringOf(info[0]), StringOf(info[1]), std::move(limits),
      awaited.Then([](Napi::Env env, const Status& status, const ModelFolder& folder) {
        return std::array<napi_value, 2>{ToJs(env, status), ToJs(env, folder)};
      }));
  awaited.Taken();
}

void ServerWrap::Open(const Napi::CallbackInfo& info) {
  ModelSpec spec;
  spec.name = StringOf(info[1]);
  spec.version = NumberOf(info[2]);
  spec.path = StringOf(info[3]);
  spec.settings = StringsOf(info[4]);
  spec.files = FilesOf(info[6]);
  std::vector<platform::HostPolicy> policies;
  if (info[7].IsArray()) {
    const Napi::Array array = info[7].As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); i++) policies.push_back(HostPolicyOf(array.Get(i)));
  }
  spec.host_policy = platform::SharedPolicy(policies);
  Backend* const backend = BackendOf(info);
  if (!backend) return;
  Awaited awaited(info, 5);
  server_->Open(backend, std::move(spec), awaited.Then([](Napi::Env env, const OpenResult& result) {
    return std::array<napi_value, 3>{ToJs(env, result.status), Napi::Number::New(env, result.uid),
                                     ToJs(env, result.description)};
  }));
  awaited.Taken();
}

void ServerWrap::Start(const Napi::CallbackInfo& info) {
  const auto uid = static_cast<uint32_t>(NumberOf(info[0]));
  auto config = VersionConfigOf(info[1].As<Napi::Object>());
  if (const auto status = server_->StartAtOnce(uid, &config)) {
    info[2].As<Napi::Function>().Call({ToJs(info.Env(), *status)});
    return;
  }
  Awaited awaited(info, 2);
  server_->Start(uid, std::move(config), awaited.Then([](Napi::Env env, const Status& status) {
    return std::array<napi_value, 1>{ToJs(env, status)};
  }));
  awaited.Taken();
}

void ServerWrap::ChangeInstances(const Napi::CallbackInfo& info) {
  VersionConfig added;
  AddInstances(info[2], &added);
  Awaited awaited(info, 3);
  server_->ChangeInstances(
      static_cast<uint32_t>(NumberOf(info[0])), UidsOf(info[1]), std::move(added),
      awaited.Then([](Napi::Env env, const Status& status, const std::vector<uint32_t>& numbers) {
        const Napi::Array array = Napi::Array::New(env, numbers.size());
        for (uint32_t i = 0; i < numbers.size(); i++) array.Set(i, numbers[i]);
        return std::array<napi_value, 2>{ToJs(env, status), array};
      }));
  awaited.Taken();
}

// sequenceFate(version, id): the number of the SequenceFate of a correlation id, a bigint or a
// string.
Napi::Value ServerWrap::FateOfSequence(const Napi::CallbackInfo& info) {
  SequenceId id;
  if (info[1].IsBigInt()) {
    bool lossless = false;
    id.number = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
  } else {
    id.text = StringOf(info[1]);
  }
  const auto version = server_->FindVersion(static_cast<uint32_t>(NumberOf(info[0])));
  const SequenceFate fate = version ? version->FateOf(id) : SequenceFate::kUnknown;
  return Napi::Number::New(info.Env(), static_cast<uint32_t>(fate));
}

Napi::Value ServerWrap::AddEnsemble(const Napi::CallbackInfo& info) {
  EnsemblePlan plan = EnsemblePlanOf(info[2]);
  plan.latencies = LatencyPolicyOf(info[3]);
  const uint32_t uid = server_->AddEnsemble(StringOf(info[0]), NumberOf(info[1]), std::move(plan));
  return Napi::Number::New(info.Env(), uid);
}

Napi::Value ServerWrap::BindEnsemble(const Napi::CallbackInfo& info) {
  const auto uid = static_cast<uint32_t>(NumberOf(info[0]));
  return ToJs(info.Env(), server_->BindEnsemble(uid, UidsOf(info[1]), StringOf(info[2])));
}

void ServerWrap::ReturnMemory(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 0);
  server_->ReturnMemory(awaited.Then([](Napi::Env) { return std::array<napi_value, 0>{}; }));
  awaited.Taken();
}

void ServerWrap::CancelLoads(const Napi::CallbackInfo&) {
  server_->CancelLoads();
}

void ServerWrap::OpenRuntime(const Napi::CallbackInfo& info) {
  Backend* const backend = BackendOf(info);
  if (!backend) return;
  using Facts = std::map<std::string, std::string>;
  const auto opened = std::make_shared<StatusOr<Facts>>(Facts());
  Awaited awaited(info, 2);
  server_->Do(
      StringOf(info[0]),
      [backend, opened, settings = StringsOf(info[1])] {
        *opened = backend->OpenRuntime(settings);
      },
      awaited.Then([opened](Napi::Env env, const Status& status) {
        const Status& failed = status.ok() ? opened->status() : status;
        return std::array<napi_value, 2>{ToJs(env, failed),
                                         ToJs(env, failed.ok() ? opened->value() : Facts())};
      }));
  awaited.Taken();
}

void ServerWrap::FindGpus(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 0);
  server_->Do(
      "the CUDA driver", [] { device::FindCudaDevices(); },
      awaited.Then([](Napi::Env env, const Status& status) {
        return std::array<napi_value, 1>{ToJs(env, status)};
      }));
  awaited.Taken();
}

void ServerWrap::FindNvml(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 0);
  const auto found = std::make_shared<FoundNvml>();
  server_->Do(
      "NVML", [found] { *found = LookForNvml(); },
      awaited.Then([found](Napi::Env env, const Status& status) {
        return std::array<napi_value, 2>{ToJs(env, status), ToJs(env, *found)};
      }));
  awaited.Taken();
}

void ServerWrap::WatchGpus(const Napi::CallbackInfo& info) {
  (void)server_->AddCompanion(
      device::GpuWatch::Share(std::chrono::milliseconds(NumberOf(info[0]))));
}

void ServerWrap::Publish(const Napi::CallbackInfo& info) {
  server_->Publish(ModelKeyOf(info[0]), StringOf(info[1]));
}

void ServerWrap::Withdraw(const Napi::CallbackInfo& info) {
  server_->Withdraw(ModelKeyOf(info[0]));
}

Napi::Value ServerWrap::Read(const Napi::CallbackInfo& info) {
  const Server::Snapshot snapshot =
      server_->Read(ModelKeyOf(info[0]), static_cast<uint64_t>(NumberOf(info[1])));
  if (!snapshot.found) return info.Env().Undefined();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("revision", Napi::Number::New(info.Env(), static_cast<double>(snapshot.revision)));
  if (snapshot.changed) object.Set("json", snapshot.json);
  return object;
}

Napi::Value ServerWrap::ResolveModel(const Napi::CallbackInfo& info) {
  StatusOr<std::optional<ModelKey>> found = server_->ResolveModel(StringOf(info[0]));
  if (!found.ok()) return ToJs(info.Env(), found.status());
  return found.value() ? ToJs(info.Env(), *found.value()) : info.Env().Undefined();
}

Napi::Value ServerWrap::ModelKeys(const Napi::CallbackInfo& info) {
  const std::vector<ModelKey> keys = server_->ModelKeys();
  Napi::Array array = Napi::Array::New(info.Env(), keys.size());
  for (uint32_t i = 0; i < keys.size(); i++) array.Set(i, ToJs(info.Env(), keys[i]));
  return array;
}

void ServerWrap::Retire(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 1);
  server_->Retire(static_cast<uint32_t>(NumberOf(info[0])),
                  awaited.Then([](Napi::Env env, bool abandoned) {
                    return std::array<napi_value, 1>{Napi::Boolean::New(env, abandoned)};
                  }));
  awaited.Taken();
}

Napi::Value ServerWrap::IsIdle(const Napi::CallbackInfo& info) {
  const auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  return Napi::Boolean::New(info.Env(), !version || (!version->used() && version->drained()));
}

void ServerWrap::Close(const Napi::CallbackInfo& info) {
  Awaited awaited(info, 1);
  server_->Close(static_cast<uint64_t>(NumberOf(info[0])),
                 awaited.Then([](Napi::Env env, const std::vector<std::string>& abandoned) {
                   Napi::Array names = Napi::Array::New(env, abandoned.size());
                   for (uint32_t i = 0; i < abandoned.size(); i++) names.Set(i, abandoned[i]);
                   return std::array<napi_value, 1>{names};
                 }));
  awaited.Taken();
}

void ServerWrap::OwnPlugins(const Napi::CallbackInfo& info) {
  tritonts::OwnPlugins(info, *server_);
}

void ServerWrap::Join(const Napi::CallbackInfo& info) {
  ForgetPlugins(info.Env(), server_->id());
  server_->Join();
  std::erase(DataOf(info.Env()).owned, server_);
}

Napi::Value ServerWrap::VersionStatistics(const Napi::CallbackInfo& info) {
  auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->statistics()) : info.Env().Undefined();
}

Napi::Value ServerWrap::Metrics(const Napi::CallbackInfo& info) {
  auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->metrics(DoublesOf(info[1]))) : info.Env().Undefined();
}

Napi::Value ServerWrap::Batches(const Napi::CallbackInfo& info) {
  auto version = server_->FindVersion(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->batches()) : info.Env().Undefined();
}

Napi::Value ServerWrap::VersionInfo(const Napi::CallbackInfo& info) {
  auto version = server_->FindServed(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->Info()) : info.Env().Undefined();
}

Napi::Value ServerWrap::Resources(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<RateLimiter::Usage> resources = server_->Resources();
  const Napi::Array array = Napi::Array::New(env, resources.size());
  for (uint32_t i = 0; i < resources.size(); i++) {
    const RateLimiter::Usage& usage = resources[i];
    const Napi::Object object = Napi::Object::New(env);
    object.Set("name", usage.name);
    if (usage.device) object.Set("device", *usage.device);
    object.Set("count", static_cast<double>(usage.count));
    object.Set("inUse", static_cast<double>(usage.in_use));
    object.Set("waiting", usage.waiting);
    array.Set(i, object);
  }
  return array;
}

Napi::Value ServerWrap::InFlightBytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(server_->in_flight_bytes()));
}

}  // namespace tritonts

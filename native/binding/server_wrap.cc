#include "server_wrap.h"

#include <algorithm>

#include "../backends/registry.h"
#include "addon.h"
#include "convert.h"
#include "port_wrap.h"

namespace tritonts {

namespace {
// Calls a JS function that is no longer needed afterwards. An argument that could not be made, as
// where the environment ends, leaves nothing to be told.
void CallOnce(const std::shared_ptr<Napi::FunctionReference>& function,
              const std::vector<napi_value>& arguments) {
  if (std::none_of(arguments.begin(), arguments.end(), [](napi_value one) { return !one; })) {
    function->Call(arguments);
  }
  function->Reset();
}
}  // namespace

Napi::Function ServerWrap::Define(Napi::Env env) {
  return DefineClass(
      env, "NativeServer",
      {InstanceMethod<&ServerWrap::Id>("id"), InstanceMethod<&ServerWrap::Attach>("attach"),
       InstanceMethod<&ServerWrap::ReadFolder>("readFolder"),
       InstanceMethod<&ServerWrap::Open>("open"), InstanceMethod<&ServerWrap::Start>("start"),
       InstanceMethod<&ServerWrap::ReturnMemory>("returnMemory"),
       InstanceMethod<&ServerWrap::CancelLoads>("cancelLoads"),
       InstanceMethod<&ServerWrap::Publish>("publish"),
       InstanceMethod<&ServerWrap::Withdraw>("withdraw"), InstanceMethod<&ServerWrap::Read>("read"),
       InstanceMethod<&ServerWrap::ModelNames>("modelNames"),
       InstanceMethod<&ServerWrap::Retire>("retire"), InstanceMethod<&ServerWrap::Close>("close"),
       InstanceMethod<&ServerWrap::Join>("join"),
       InstanceMethod<&ServerWrap::VersionStatistics>("statistics"),
       InstanceMethod<&ServerWrap::VersionInfo>("info"),
       InstanceMethod<&ServerWrap::InFlightBytes>("inFlightBytes")});
}

ServerWrap::ServerWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ServerWrap>(info) {}

Napi::Value ServerWrap::Create(Napi::Env env, std::shared_ptr<Server> server) {
  Napi::Object object = DataOf(env).server_class.New({});
  ServerWrap* wrap = object.IsEmpty() ? nullptr : Unwrap(object);
  if (!wrap) return {};  // the environment ends
  wrap->server_ = std::move(server);
  return object;
}

std::shared_ptr<Napi::FunctionReference> ServerWrap::Callback(const Napi::CallbackInfo& info,
                                                              size_t index) {
  DataOf(info.Env()).poster->Hold();
  // Deleted on the JS thread by the closure; when the environment ends before, it is abandoned,
  // since no other thread may free it.
  auto* reference = new Napi::FunctionReference(Napi::Persistent(info[index].As<Napi::Function>()));
  return {reference, [](Napi::FunctionReference* known) {
            if (known->IsEmpty()) delete known;
          }};
}

Napi::Value ServerWrap::Id(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), server_->id());
}

Napi::Value ServerWrap::Attach(const Napi::CallbackInfo& info) {
  return PortWrap::Create(info.Env(), server_, info[0].As<Napi::Function>(), FlagOf(info[1]));
}

void ServerWrap::ReadFolder(const Napi::CallbackInfo& info) {
  auto callback = Callback(info, 4);
  auto poster = DataOf(info.Env()).poster;
  server_->ReadFolder(StringOf(info[0]), StringOf(info[1]),
                      static_cast<uint64_t>(NumberOf(info[2])), StringOf(info[3]),
                      [callback, poster](Status status, ModelFolder folder) {
                        poster->Post([callback, status = std::move(status),
                                      folder = std::move(folder)](Napi::Env env) {
                          CallOnce(callback, {ToJs(env, status), ToJs(env, folder)});
                        });
                      });
}

void ServerWrap::Open(const Napi::CallbackInfo& info) {
  ModelSpec spec;
  spec.name = StringOf(info[1]);
  spec.version = NumberOf(info[2]);
  spec.path = StringOf(info[3]);
  spec.settings = StringsOf(info[4]);
  spec.files = FilesOf(info[6]);
  Backend* backend = FindBackend(StringOf(info[0]));
  if (!backend) {
    Napi::TypeError::New(info.Env(), "there is no such backend").ThrowAsJavaScriptException();
    return;
  }
  auto callback = Callback(info, 5);
  auto poster = DataOf(info.Env()).poster;
  server_->Open(backend, std::move(spec), [callback, poster](OpenResult result) {
    poster->Post([callback, result = std::move(result)](Napi::Env env) {
      CallOnce(callback, {ToJs(env, result.status), Napi::Number::New(env, result.uid),
                          ToJs(env, result.description)});
    });
  });
}

void ServerWrap::Start(const Napi::CallbackInfo& info) {
  const auto uid = static_cast<uint32_t>(NumberOf(info[0]));
  auto config = VersionConfigOf(info[1].As<Napi::Object>());
  if (const auto status = server_->StartAtOnce(uid, &config)) {
    info[2].As<Napi::Function>().Call({ToJs(info.Env(), *status)});
    return;
  }
  auto callback = Callback(info, 2);
  auto poster = DataOf(info.Env()).poster;
  server_->Start(uid, std::move(config), [callback, poster](Status status) {
    poster->Post([callback, status](Napi::Env env) { CallOnce(callback, {ToJs(env, status)}); });
  });
}

void ServerWrap::ReturnMemory(const Napi::CallbackInfo& info) {
  auto callback = Callback(info, 0);
  auto poster = DataOf(info.Env()).poster;
  server_->ReturnMemory(
      [callback, poster] { poster->Post([callback](Napi::Env) { CallOnce(callback, {}); }); });
}

void ServerWrap::CancelLoads(const Napi::CallbackInfo&) {
  server_->CancelLoads();
}

void ServerWrap::Publish(const Napi::CallbackInfo& info) {
  server_->Publish(StringOf(info[0]), StringOf(info[1]));
}

void ServerWrap::Withdraw(const Napi::CallbackInfo& info) {
  server_->Withdraw(StringOf(info[0]));
}

Napi::Value ServerWrap::Read(const Napi::CallbackInfo& info) {
  const Server::Snapshot snapshot =
      server_->Read(StringOf(info[0]), static_cast<uint64_t>(NumberOf(info[1])));
  if (!snapshot.found) return info.Env().Undefined();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("revision", Napi::Number::New(info.Env(), static_cast<double>(snapshot.revision)));
  if (snapshot.changed) object.Set("json", snapshot.json);
  return object;
}

Napi::Value ServerWrap::ModelNames(const Napi::CallbackInfo& info) {
  const std::vector<std::string> names = server_->ModelNames();
  Napi::Array array = Napi::Array::New(info.Env(), names.size());
  for (uint32_t i = 0; i < names.size(); i++) array.Set(i, names[i]);
  return array;
}

void ServerWrap::Retire(const Napi::CallbackInfo& info) {
  auto callback = Callback(info, 1);
  auto poster = DataOf(info.Env()).poster;
  server_->Retire(static_cast<uint32_t>(NumberOf(info[0])), [callback, poster](bool abandoned) {
    poster->Post([callback, abandoned](Napi::Env env) {
      CallOnce(callback, {Napi::Boolean::New(env, abandoned)});
    });
  });
}

void ServerWrap::Close(const Napi::CallbackInfo& info) {
  auto callback = Callback(info, 1);
  auto poster = DataOf(info.Env()).poster;
  server_->Close(static_cast<uint64_t>(NumberOf(info[0])),
                 [callback, poster](std::vector<std::string> abandoned) {
                   poster->Post([callback, abandoned](Napi::Env env) {
                     Napi::Array names = Napi::Array::New(env, abandoned.size());
                     for (uint32_t i = 0; i < abandoned.size(); i++) names.Set(i, abandoned[i]);
                     CallOnce(callback, {names});
                   });
                 });
}

void ServerWrap::Join(const Napi::CallbackInfo& info) {
  server_->Join();
  std::erase(DataOf(info.Env()).owned, server_);
}

Napi::Value ServerWrap::VersionStatistics(const Napi::CallbackInfo& info) {
  auto version = server_->FindVersion(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->statistics()) : info.Env().Undefined();
}

Napi::Value ServerWrap::VersionInfo(const Napi::CallbackInfo& info) {
  auto version = server_->FindVersion(static_cast<uint32_t>(NumberOf(info[0])));
  return version ? ToJs(info.Env(), version->Info()) : info.Env().Undefined();
}

Napi::Value ServerWrap::InFlightBytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(server_->in_flight_bytes()));
}

}  // namespace tritonts

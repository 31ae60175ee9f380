#include "python_wrap.h"

#include <algorithm>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include "addon.h"
#include "convert.h"
#include "inbox/inboxes.h"

namespace tritonts {

namespace {

uint64_t BytesAt(const Napi::Object& options, const char* name) {
  return static_cast<uint64_t>(std::max<int64_t>(0, NumberOf(options.Get(name))));
}

}  // namespace

Napi::Function PythonWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"descriptor", &PythonWrap::Descriptor},
      {"inputsDescriptor", &PythonWrap::InputsDescriptor},
      {"closeDescriptor", &PythonWrap::CloseDescriptor},
      {"start", &PythonWrap::Start},
      {"up", &PythonWrap::Up},
      {"askToEnd", &PythonWrap::AskToEnd},
      {"askReady", &PythonWrap::AskReady},
      {"stop", &PythonWrap::Stop},
  };
  return DefineWrapped(env, "NativePython", kMethods);
}

Napi::Value PythonWrap::Create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto inboxes = ReservedInboxes::Get().Find(static_cast<uint32_t>(NumberOf(info[0])));
  const auto index = static_cast<size_t>(NumberOf(info[1]));
  if (!inboxes || index >= inboxes->list.size() || !info[3].IsObject()) return env.Undefined();
  const auto given = info[3].As<Napi::Object>();
  python::ChannelOptions options;
  options.memory_name = StringOf(given.Get("memoryName"));
  options.queue_size = static_cast<uint32_t>(BytesAt(given, "queueSize"));
  options.initial_bytes = BytesAt(given, "initialBytes");
  options.growth_bytes = BytesAt(given, "growthBytes");
  options.cores = static_cast<uint32_t>(BytesAt(given, "cores"));
  if (FlagOf(given.Get("inFile"))) options.place = platform::SharedMemory::Place::kFile;
  std::string fault;
  options.inputs = std::dynamic_pointer_cast<python::SharedInputs>(inboxes->inputs);
  if (options.inputs && !options.inputs->Prepare(options.memory_name, options.initial_bytes,
                                                 options.growth_bytes, options.place, &fault)) {
    return Napi::String::New(env, fault);
  }
  auto made = std::make_unique<PythonWrap>();
  PythonWrap* const wrap = made.get();
  wrap->channel_ =
      python::Channel::Create(options, inboxes->list[index],
                              Server::Find(static_cast<uint32_t>(NumberOf(info[2]))), &fault);
  if (!wrap->channel_) return Napi::String::New(env, fault);
  std::unordered_set<PythonWrap*>& pythons = DataOf(env).pythons;
  pythons.insert(wrap);
  const Napi::Object object = Wrap(DataOf(env).python_class, std::move(made));
  if (object.IsEmpty()) {
    pythons.erase(wrap);
    return env.Undefined();
  }
  wrap->self_ = Napi::Persistent(object);
  return object;
}

void PythonWrap::End() {
  if (!channel_) return;
  std::exchange(channel_, nullptr)->Stop();
  if (signal_) napi_release_threadsafe_function(std::exchange(signal_, nullptr), napi_tsfn_abort);
}

void PythonWrap::Stop(const Napi::CallbackInfo& info) {
  if (!channel_) return;
  End();
  DataOf(info.Env()).pythons.erase(this);
  self_.Reset();
}

void PythonWrap::Tell(napi_env env, napi_value function, void*, void* data) {
  if (env == nullptr || function == nullptr) return;  // torn down
  Napi::HandleScope scope(env);
  const napi_value text = Napi::String::New(env, static_cast<const char*>(data));
  napi_call_function(env, Napi::Env(env).Undefined(), function, 1, &text, nullptr);
}

Napi::Value PythonWrap::Descriptor(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), channel_ ? channel_->descriptor() : -1);
}

Napi::Value PythonWrap::InputsDescriptor(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), channel_ ? channel_->inputs_descriptor() : -1);
}

void PythonWrap::CloseDescriptor(const Napi::CallbackInfo&) {
  if (channel_) channel_->CloseDescriptor();
}

Napi::Value PythonWrap::Start(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!channel_ || signal_ || !info[0].IsFunction()) return env.Undefined();
  if (napi_create_threadsafe_function(env, info[0], nullptr,
                                      Napi::String::New(env, "tritonts python"), 0, 1, nullptr,
                                      nullptr, nullptr, Tell, &signal_) != napi_ok) {
    return Napi::Boolean::New(env, false);
  }
  napi_unref_threadsafe_function(env, signal_);
  // The function outlives the channel's thread.
  const python::Channel::Started started = channel_->Start([signal = signal_](const char* reason) {
    (void)napi_call_threadsafe_function(signal, const_cast<char*>(reason), napi_tsfn_nonblocking);
  });
  if (started == python::Channel::Started::kClosed) return env.Undefined();
  return Napi::Boolean::New(env, started == python::Channel::Started::kYes);
}

void PythonWrap::Up(const Napi::CallbackInfo&) {
  if (channel_) channel_->Up();
}

void PythonWrap::AskToEnd(const Napi::CallbackInfo&) {
  if (channel_) channel_->AskToEnd();
}

void PythonWrap::AskReady(const Napi::CallbackInfo&) {
  if (channel_) channel_->AskReady();
}

}  // namespace tritonts

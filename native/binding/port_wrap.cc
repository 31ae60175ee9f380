#include "port_wrap.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "addon.h"
#include "convert.h"
#include "engine/server/server.h"

namespace tritonts {

Napi::Function PortWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"addSlab", &PortWrap::AddSlab},
      {"slab", &PortWrap::Slab},
      {"header", &PortWrap::Header},
      {"submission", &PortWrap::Submission},
      {"external", &PortWrap::External},
      {"stage", &PortWrap::Stage},
      {"unstage", &PortWrap::Unstage},
      {"submit", &PortWrap::Submit},
      {"submitCopies", &PortWrap::SubmitCopies},
      {"look", &PortWrap::Look},
      {"cancel", &PortWrap::Cancel},
      {"cancelMany", &PortWrap::CancelMany},
      {"dropSlab", &PortWrap::DropSlab},
      {"shrink", &PortWrap::Shrink},
      {"page", &PortWrap::Page},
      {"copyPage", &PortWrap::CopyPage},
      {"takeLarge", &PortWrap::TakeLarge},
      {"largeBytes", &PortWrap::LargeBytes},
      {"copyLarge", &PortWrap::CopyLarge},
      {"recycle", &PortWrap::Recycle},
      {"read", &PortWrap::Read},
      {"acknowledge", &PortWrap::Acknowledge},
      {"headerWord", &PortWrap::HeaderWord},
      {"ref", &PortWrap::RefLoop},
      {"unref", &PortWrap::UnrefLoop},
      {"detach", &PortWrap::DetachFromJs},
  };
  return DefineWrapped(env, "NativePort", kMethods);
}

Napi::Value PortWrap::Create(Napi::Env env, const std::shared_ptr<Server>& server,
                             const Napi::Function& on_pages, bool external) {
  auto made = std::make_unique<PortWrap>();
  PortWrap* wrap = made.get();
  auto signal = std::make_shared<Signal>();
  if (napi_create_threadsafe_function(env, on_pages, nullptr,
                                      Napi::String::New(env, "tritonts port"), 0, 1, nullptr,
                                      nullptr, wrap, Wake, &signal->function) != napi_ok) {
    return {};
  }
  wrap->signal_ = signal;
  napi_unref_threadsafe_function(env, signal->function);
  // Not called after Port::Detach has returned; the function lives longer than that.
  wrap->port_ = server->Attach([signal] {
    napi_call_threadsafe_function(signal->function, nullptr, napi_tsfn_nonblocking);
  });
  if (!wrap->port_) return {};
  wrap->external_ = external && !ExternalBuffer(env, wrap->port_->header()).IsEmpty();
  // The environment's cleanup hook detaches every port; the object must live until then or until
  // Detach.
  std::unordered_set<PortWrap*>& ports = DataOf(env).ports;
  ports.insert(wrap);
  const Napi::Object object = Wrap(DataOf(env).port_class, std::move(made));
  if (object.IsEmpty()) {
    ports.erase(wrap);
    return {};
  }
  wrap->self_ = Napi::Persistent(object);
  return object;
}

void PortWrap::Detach() {
  if (!signal_ || detached_) return;
  detached_ = true;
  if (port_) port_->Detach();
  napi_release_threadsafe_function(signal_->function, napi_tsfn_abort);
}

void PortWrap::DetachFromJs(const Napi::CallbackInfo& info) {
  if (detached_) return;
  Detach();
  DataOf(info.Env()).ports.erase(this);
  self_.Reset();
}

void PortWrap::Wake(napi_env env, napi_value on_pages, void* context, void*) {
  if (env == nullptr || on_pages == nullptr) return;  // torn down
  auto* wrap = static_cast<PortWrap*>(context);
  if (wrap->detached_) return;
  Napi::HandleScope scope(env);
  const napi_value count = Napi::Number::New(env, wrap->TakePages());
  // Called in the thread-safe function's scope: microtasks and ticks run when this returns.
  napi_value arguments[] = {count};
  napi_call_function(env, Napi::Env(env).Undefined(), on_pages, 1, arguments, nullptr);
}

Napi::Value PortWrap::AddSlab(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), port_->inputs().AddSlab() != nullptr);
}

Napi::Value PortWrap::Slab(const Napi::CallbackInfo& info) {
  return ExternalBuffer(info.Env(), port_->inputs().slab(WordOf(info, 0)));
}

Napi::Value PortWrap::Header(const Napi::CallbackInfo& info) {
  return ExternalBuffer(info.Env(), port_->header());
}

Napi::Value PortWrap::Submission(const Napi::CallbackInfo& info) {
  return ExternalBuffer(info.Env(), port_->submission());
}

Napi::Value PortWrap::External(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), external_);
}

Napi::Value PortWrap::Stage(const Napi::CallbackInfo& info) {
  const auto [data, size] = ViewOf(info[0]);
  uint32_t id = 0;
  Block* block = port_->StageInput(size, WordOf(info, 1), &id);
  if (!block) return Napi::Number::New(info.Env(), -1);
  if (size > 0) std::memcpy(block->data(), data, size);
  return Napi::Number::New(info.Env(), id);
}

void PortWrap::Unstage(const Napi::CallbackInfo& info) {
  port_->inputs().Unstage(WordOf(info, 0));
}

Napi::Value PortWrap::Submit(const Napi::CallbackInfo& info) {
  const size_t count = std::min<size_t>(WordOf(info, 0), layout::kSubmissionWords);
  return SubmitWords(info.Env(), static_cast<const int32_t*>(port_->submission()->data()), count,
                     nullptr, FlagOf(info[1]));
}

Napi::Value PortWrap::SubmitCopies(const Napi::CallbackInfo& info) {
  const size_t count = WordOf(info, 0);
  const auto [words, size] = ViewOf(info[2]);
  if (!words || count * 4 > size || !info[3].IsArray()) {
    return ToJs(info.Env(), Status::Internal("malformed submission: no words"));
  }
  const Napi::Array slabs = info[3].As<Napi::Array>();
  std::vector<const char*> sources;
  try {
    sources.reserve(slabs.Length());
  } catch (const std::bad_alloc&) {
    return ToJs(info.Env(), Status::NoMemory());
  }
  for (uint32_t i = 0; i < slabs.Length(); i++) {
    const auto [data, bytes] = ViewOf(slabs.Get(i));
    // A slab that was dropped is not read.
    if (port_->inputs().slab(i) && bytes != layout::kSlabBytes) {
      return ToJs(info.Env(), Status::Internal("malformed submission: slab of the wrong size"));
    }
    sources.push_back(static_cast<const char*>(data));
  }
  if (sources.size() < port_->inputs().slabs()) {
    return ToJs(info.Env(), Status::Internal("malformed submission: slabs are missing"));
  }
  return SubmitWords(info.Env(), static_cast<const int32_t*>(words), count, sources.data(),
                     FlagOf(info[1]));
}

Napi::Value PortWrap::SubmitWords(Napi::Env env, const int32_t* words, size_t count,
                                  const char* const* slab_sources, bool run) {
  bool answered = false;
  const Status status = port_->Submit(words, count, slab_sources, run, &answered);
  if (!status.ok()) return ToJs(env, status);
  return Napi::Number::New(env, answered ? TakePages() : 0);
}

Napi::Value PortWrap::Look(const Napi::CallbackInfo& info) {
  constexpr int32_t kAsleep = -2;
  constexpr int32_t kNothing = -1;
  const Looked looked = port_->Look();
  if (looked == Looked::kSomething) return Napi::Number::New(info.Env(), TakePages());
  return Napi::Number::New(info.Env(), looked == Looked::kNothing ? kNothing : kAsleep);
}

void PortWrap::Cancel(const Napi::CallbackInfo& info) {
  port_->Cancel(WordOf(info, 0), WordOf(info, 1), WordOf(info, 2), WordOf(info, 3));
}

void PortWrap::CancelMany(const Napi::CallbackInfo& info) {
  const size_t count = WordOf(info, 0);
  if (info[1].IsTypedArray()) {
    const auto [words, size] = ViewOf(info[1]);
    port_->CancelMany(static_cast<const int32_t*>(words), std::min(count, size / 4));
  } else {
    port_->CancelMany(static_cast<const int32_t*>(port_->submission()->data()),
                      std::min<size_t>(count, layout::kSubmissionWords));
  }
}

void PortWrap::DropSlab(const Napi::CallbackInfo& info) {
  port_->inputs().DropSlab(WordOf(info, 0));
}

void PortWrap::Shrink(const Napi::CallbackInfo&) {
  port_->Shrink();
}

void PortWrap::Acknowledge(const Napi::CallbackInfo& info) {
  port_->Acknowledge(WordOf(info, 0));
}

Napi::Value PortWrap::HeaderWord(const Napi::CallbackInfo& info) {
  const uint32_t index = WordOf(info, 0);
  if (index * 4 >= layout::kHeaderBytes) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), port_->header_word(index).load(std::memory_order_acquire));
}

void PortWrap::RefLoop(const Napi::CallbackInfo& info) {
  if (!detached_) napi_ref_threadsafe_function(info.Env(), signal_->function);
}

void PortWrap::UnrefLoop(const Napi::CallbackInfo& info) {
  if (!detached_) napi_unref_threadsafe_function(info.Env(), signal_->function);
}

}  // namespace tritonts

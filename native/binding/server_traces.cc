// The functions of a server that concern traces (engine/trace/tracer.h).
#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "binding/convert.h"
#include "binding/server_wrap.h"
#include "engine/base/clock.h"

namespace tritonts {

ServerWrap::~ServerWrap() {
  for (const uint64_t id : traces_) server_->tracer().Release(id);
}

// setTrace(model, setting | null)
void ServerWrap::SetTrace(const Napi::CallbackInfo& info) {
  std::optional<Tracer::Update> update;
  if (info[1].IsObject()) {
    const Napi::Object given = info[1].As<Napi::Object>();
    Tracer::Update made;
    made.options.timestamps = FlagOf(given.Get("timestamps"));
    made.options.tensors = FlagOf(given.Get("tensors"));
    made.options.rate = static_cast<uint32_t>(NumberOf(given.Get("rate")));
    const Napi::Value count = given.Get("count");
    made.keeps_left = !count.IsNumber();
    if (count.IsNumber()) made.options.left = static_cast<int64_t>(NumberOf(count));
    made.options.file = StringOf(given.Get("file"));
    made.options.log_frequency = static_cast<uint32_t>(NumberOf(given.Get("logFrequency")));
    made.options.spans = FlagOf(given.Get("spans"));
    update = std::move(made);
  }
  const Status status = server_->tracer().Set(StringOf(info[0]), std::move(update));
  if (!status.ok()) Napi::Error::New(info.Env(), status.message()).ThrowAsJavaScriptException();
}

// sampleTrace(model, context, requestId)
Napi::Value ServerWrap::SampleTrace(const Napi::CallbackInfo& info) {
  const std::string context = StringOf(info[1]);
  const int64_t id = server_->tracer().Choose(StringOf(info[0]), context, StringOf(info[2]));
  try {
    if (id > 0) traces_.insert(static_cast<uint64_t>(id));
  } catch (const std::bad_alloc&) {
    server_->tracer().Release(static_cast<uint64_t>(id));
    throw;
  }
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

// noteTrace(id, name, ns)
void ServerWrap::NoteTrace(const Napi::CallbackInfo& info) {
  const auto ns = static_cast<uint64_t>(NumberOf(info[2]));
  server_->tracer().Note(static_cast<uint64_t>(NumberOf(info[0])), StringOf(info[1]),
                         ns > 0 ? ns : NowNs());
}

void ServerWrap::EndTrace(const Napi::CallbackInfo& info) {
  const auto id = static_cast<uint64_t>(NumberOf(info[0]));
  traces_.erase(id);
  server_->tracer().Release(id);
}

// takeTraces(most)
Napi::Value ServerWrap::TakeTraces(const Napi::CallbackInfo& info) {
  const auto most = static_cast<size_t>(std::max<int64_t>(0, NumberOf(info[0])));
  return Napi::String::New(info.Env(), server_->tracer().writer().Take(most));
}

Napi::Value ServerWrap::TraceCounts(const Napi::CallbackInfo& info) {
  const TraceWriter::Counts counts = server_->tracer().writer().counts();
  const Napi::Object object = Napi::Object::New(info.Env());
  object.Set("written", Napi::Number::New(info.Env(), static_cast<double>(counts.written)));
  object.Set("dropped", Napi::Number::New(info.Env(), static_cast<double>(counts.dropped)));
  object.Set("fault", Napi::String::New(info.Env(), counts.fault));
  return object;
}

}  // namespace tritonts

#include "instance_wrap.h"

#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include "addon.h"
#include "convert.h"
#include "engine/base/clock.h"

namespace tritonts {

namespace {

constexpr int32_t kAsleep = 0;
constexpr int32_t kClosed = -1;
constexpr int32_t kTooSmall = -2;
constexpr int32_t kAgain = -3;
// InstanceWrap::Room, InstanceWrap::Readers.
constexpr int32_t kNobody = -1;
constexpr int32_t kAll = -1;
// A stream may be at most this many responses ahead of its reader, and continues when this few are
// left.
constexpr uint32_t kMostAhead = 16;
constexpr uint32_t kFewAhead = 8;
constexpr const char* kTag = "tritonts instance";

}  // namespace

Napi::Function InstanceWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"setMemory", &InstanceWrap::SetMemory}, {"up", &InstanceWrap::Up},
      {"next", &InstanceWrap::Next},           {"answer", &InstanceWrap::Answer},
      {"cancelled", &InstanceWrap::Cancelled}, {"detachBuffers", &InstanceWrap::DetachBuffers},
      {"detach", &InstanceWrap::DetachFromJs}, {"part", &InstanceWrap::Part},
      {"room", &InstanceWrap::Room},           {"readers", &InstanceWrap::Readers},
      {"caller", &InstanceWrap::CallerOf},     {"refuse", &InstanceWrap::Refuse},
  };
  return DefineWrapped(env, "NativeInstance", kMethods);
}

Napi::Value InstanceWrap::Create(Napi::Env env, std::shared_ptr<Inbox> inbox,
                                 const Napi::Function& wake, bool holds_loop, uint32_t cores) {
  auto made = std::make_unique<InstanceWrap>();
  InstanceWrap* wrap = made.get();
  auto signal = std::make_shared<Signal>();
  if (napi_create_threadsafe_function(env, wake, nullptr, Napi::String::New(env, kTag), 0, 1,
                                      nullptr, nullptr, wrap, Wake, &signal->function) != napi_ok) {
    return {};
  }
  // From here on the wrap releases the function in all cases.
  wrap->signal_ = signal;
  wrap->cores_ = cores;
  if (!holds_loop) napi_unref_threadsafe_function(env, signal->function);
  // Not called after Inbox::Detach has returned; the function lives longer than that.
  if (!inbox->Attach([signal] {
        napi_call_threadsafe_function(signal->function, nullptr, napi_tsfn_nonblocking);
      })) {
    return {};
  }
  wrap->inbox_ = std::move(inbox);
  std::unordered_set<InstanceWrap*>& instances = DataOf(env).instances;
  instances.insert(wrap);
  const Napi::Object object = Wrap(DataOf(env).instance_class, std::move(made));
  if (object.IsEmpty()) {
    instances.erase(wrap);
    return {};
  }
  wrap->self_ = Napi::Persistent(object);
  return object;
}

void InstanceWrap::Detach() {
  if (!signal_ || detached_) return;
  detached_ = true;
  if (entered_run_) {
    entered_run_ = nullptr;
    inbox_->Leave(entered_, false);
  }
  if (inbox_) inbox_->Detach();
  napi_release_threadsafe_function(signal_->function, napi_tsfn_abort);
}

void InstanceWrap::DetachFromJs(const Napi::CallbackInfo& info) {
  if (detached_) return;
  Detach();
  DataOf(info.Env()).instances.erase(this);
  self_.Reset();
}

void InstanceWrap::Wake(napi_env env, napi_value wake, void* context, void*) {
  if (env == nullptr || wake == nullptr) return;  // torn down
  if (static_cast<InstanceWrap*>(context)->detached_) return;
  Napi::HandleScope scope(env);
  napi_call_function(env, Napi::Env(env).Undefined(), wake, 0, nullptr, nullptr);
}

Napi::Value InstanceWrap::SetMemory(const Napi::CallbackInfo& info) {
  // An answer has fewer dims than words. So nothing allocates while it is read.
  if (info[0].IsArrayBuffer()) shape_.reserve(info[0].As<Napi::ArrayBuffer>().ByteLength() / 4);
  const auto take = [&](size_t index, Memory* memory) {
    if (!info[index].IsArrayBuffer()) return false;
    auto buffer = info[index].As<Napi::ArrayBuffer>();
    memory->data = static_cast<char*>(buffer.Data());
    memory->size = buffer.ByteLength();
    memory->buffer = Napi::Reference<Napi::ArrayBuffer>::New(buffer, 1);
    return true;
  };
  const bool taken = take(0, &words_) && take(1, &bytes_);
  return Napi::Boolean::New(info.Env(), taken);
}

void InstanceWrap::Up(const Napi::CallbackInfo&) {
  if (!detached_) inbox_->Up();
}

Inbox::Next InstanceWrap::Look(uint32_t* slot, Run** run) {
  waiting_since_ns_ = NowNs();
  spun_ = Spin::kNone;
  if (!spin_.ShouldSpin()) return Inbox::Next::kNone;
  const SpinCore core(Spinner::kInstance, cores_);
  if (!core.taken()) return Inbox::Next::kNone;
  spun_ = tritonts::Look(inbox_->rung(), core, waiting_since_ns_ + SpinPolicy::kMostNs, NowNs);
  return inbox_->Take(slot, run);
}

Napi::Value InstanceWrap::Next(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (detached_ || !info[0].IsArray()) return Napi::Number::New(env, kClosed);
  const bool may_spin = cores_ > 0 && FlagOf(info[1]);
  while (!entered_run_) {
    Run* run = nullptr;
    Inbox::Next next = inbox_->Take(&entered_, &run);
    if (next == Inbox::Next::kNone && may_spin) next = Look(&entered_, &run);
    if (next == Inbox::Next::kClosed) return Napi::Number::New(env, kClosed);
    if (next == Inbox::Next::kBatch) {
      entered_run_ = run;
    } else if (inbox_->Sleep()) {
      return Napi::Number::New(env, kAsleep);
    } else if (inbox_->has_readers()) {
      return Napi::Number::New(env, kAgain);
    }
  }
  if (waiting_since_ns_ != 0) {
    // Count the wait until the batch came. This thread's wake-up latency says nothing about whether
    // a spin would have found the batch.
    const uint64_t since = std::exchange(waiting_since_ns_, 0);
    spin_.Note(spun_, std::max(inbox_->pushed_ns(), since) - since);
  }
  bool written = false;
  try {
    written = Write(env, *entered_run_, info[0].As<Napi::Array>());
  } catch (const std::bad_alloc&) {
    // JavaScript has seen nothing of this batch, and calls Next again.
    RefuseEntered();
    return Napi::Number::New(env, kAgain);
  }
  if (!written) {
    auto* words = reinterpret_cast<int32_t*>(words_.data);
    if (words_.size >= 8) {
      words[0] = static_cast<int32_t>(needs_words_);
      words[1] = static_cast<int32_t>(needs_bytes_);
    }
    return Napi::Number::New(env, kTooSmall);
  }
  entered_run_->MarkInputsReady();
  entered_run_ = nullptr;
  const uint32_t slot = entered_;
  const bool goes_on = inbox_->Leave(slot, false);
  // The batch was terminated meanwhile: there is nothing to run, and JavaScript calls Next again.
  return Napi::Number::New(env, goes_on ? static_cast<double>(needs_words_) : kAgain);
}

void InstanceWrap::RefuseEntered() {
  std::exchange(entered_run_, nullptr)->RespondAll(Status::NoMemory());
  inbox_->Leave(entered_, true);
}

void InstanceWrap::Refuse(const Napi::CallbackInfo&) {
  if (!detached_ && entered_run_) RefuseEntered();
}

Napi::Value InstanceWrap::Answer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (detached_ || !info[2].IsArray()) return Napi::Boolean::New(env, true);
  const uint32_t slot = WordOf(info, 0);
  const size_t count = std::min<size_t>(WordOf(info, 1), words_.size / 4);
  // Nothing may throw while the batch is entered, or it would never be left.
  Run* const run = inbox_->Enter(slot);
  if (!run) return Napi::Boolean::New(env, true);
  bool last = false;
  napi_get_value_bool(env, info[3], &last);
  run->MarkComputed();
  const auto* words = reinterpret_cast<const int32_t*>(words_.data);
  const bool read = Read(env, *run, words, words + count, info[2].As<Napi::Array>());
  inbox_->Leave(slot, last);
  return Napi::Boolean::New(env, read);
}

Napi::Value InstanceWrap::Cancelled(const Napi::CallbackInfo& info) {
  bool cancelled = true;
  const uint32_t slot = WordOf(info, 0);
  const uint32_t position = WordOf(info, 1);
  if (Run* const run = detached_ ? nullptr : inbox_->Enter(slot)) {
    // Never touch a request that may be done. The run knows its state.
    cancelled = !run->UnreadOf(position, kMostAhead);
    inbox_->Leave(slot, false);
  }
  return Napi::Boolean::New(info.Env(), cancelled);
}

void InstanceWrap::Part(const Napi::CallbackInfo& info) {
  if (!detached_) inbox_->Part(WordOf(info, 0));
}

Napi::Value InstanceWrap::Room(const Napi::CallbackInfo& info) {
  const uint32_t slot = WordOf(info, 0);
  const uint32_t position = WordOf(info, 1);
  int32_t room = kNobody;
  std::shared_ptr<ReadListener> reader;
  Run* run = detached_ ? nullptr : inbox_->Enter(slot);
  while (run) {
    const auto unread = run->UnreadOf(position, kMostAhead);
    if (!unread) break;
    if (!unread->full && unread->responses < kMostAhead) {
      room = static_cast<int32_t>(kMostAhead - unread->responses);
      break;
    }
    if (!reader) {
      try {
        reader = inbox_->MakeReader(slot, position);
      } catch (const std::bad_alloc&) {
        // Without a listener the stream would never resume, so it ends here.
        run->Respond(position, Status::NoMemory());
        break;
      }
      continue;
    }
    const uint32_t few = unread->full ? unread->responses - 1 : kFewAhead;
    if (run->AwaitRead(position, std::min(few, kFewAhead), reader)) {
      room = 0;
      break;
    }
  }
  if (run) inbox_->Leave(slot, false);
  return Napi::Number::New(info.Env(), room);
}

Napi::Value InstanceWrap::Readers(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto* const words = reinterpret_cast<int32_t*>(words_.data);
  uint32_t count = 0;
  while (!detached_ && 8 * (count + 1) <= words_.size) {
    uint32_t slot = 0;
    uint32_t request = 0;
    const Inbox::Readers found = inbox_->TakeReader(&slot, &request);
    // kAll includes the readers taken before.
    if (found == Inbox::Readers::kAll) return Napi::Number::New(env, kAll);
    if (found == Inbox::Readers::kNone) break;
    words[2 * count] = static_cast<int32_t>(slot);
    words[2 * count + 1] = static_cast<int32_t>(request);
    count++;
  }
  return Napi::Number::New(env, count);
}

Napi::Value InstanceWrap::CallerOf(const Napi::CallbackInfo& info) {
  int32_t position = -1;
  napi_get_value_int32(info.Env(), info[1], &position);
  uint32_t number = 0;
  try {
    if (!detached_) number = inbox_->NameCaller(WordOf(info, 0), static_cast<uint32_t>(position));
  } catch (const std::bad_alloc&) {
    ThrowNoMemory(info.Env());
  }
  return Napi::Number::New(info.Env(), number);
}

void InstanceWrap::DetachBuffers(const Napi::CallbackInfo& info) {
  if (!info[0].IsArray()) return;
  const Napi::Array buffers = info[0].As<Napi::Array>();
  for (uint32_t i = 0; i < buffers.Length(); i++) {
    const Napi::Value one = buffers.Get(i);
    if (one.IsArrayBuffer()) napi_detach_arraybuffer(info.Env(), one);
  }
}

}  // namespace tritonts

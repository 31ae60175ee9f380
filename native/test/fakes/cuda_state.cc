// Calls and contexts of the fake driver, and the controls for tests.
//
// Functions named fakeCuda… are for tests and for other fakes.
#include "cuda_state.h"

#include <cstring>
#include <new>

namespace tritonts::fakes {

namespace {

thread_local std::vector<Context*> current;
thread_local bool in_host_function = false;
thread_local Graph* capturing = nullptr;

struct Failure {
  int result = 0;
  int after = 0;  // calls that still succeed
};

// Never destroyed.
struct Calls {
  std::mutex mutex;  // guards all
  std::vector<std::pair<const char*, const std::atomic<int64_t>*>> all;
  std::map<std::string, Failure> failures;
  std::atomic<bool> any{false};  // failures
};
Calls& AllCalls() {
  static auto* const calls = new Calls();
  return *calls;
}

}  // namespace

State& Here() {
  static auto* const state = new State();
  return *state;
}

Context* CurrentContext() {
  return current.empty() ? nullptr : current.back();
}

void SetInHostFunction(bool in) {
  in_host_function = in;
}

void SetCapturing(Graph* graph) {
  capturing = graph;
}

int RefuseInCapture() {
  if (!capturing) return 0;
  capturing->invalid = true;
  return kCaptureUnsupported;
}

Call::Call(const char* name) : name_(name) {
  Calls& calls = AllCalls();
  const std::lock_guard lock(calls.mutex);
  calls.all.emplace_back(name, &count_);
}

namespace {

// Whether the driver refuses this call while any thread captures, except on threads that have
// relaxed their capture mode.
bool MayWait(const std::string& name) {
  return name.starts_with("cuMemAlloc") || name.starts_with("cuMemFree") ||
         name.starts_with("cuMemHostAlloc") || name == "cuEventQuery" ||
         name == "cuStreamSynchronize";
}
constexpr int kRelaxed = 2;
thread_local int capture_mode = 0;
std::atomic<int> captured_everywhere{0};

std::atomic<int> held_up{0};

// Waits while a call on another thread waits for all work of the device.
void AwaitOthers(Context& context) {
  std::shared_lock lock(context.waits, std::try_to_lock);
  if (lock || context.lost) return;
  held_up++;
  lock.lock();
  held_up--;
}

}  // namespace

int Call::Begin(bool needs_context) {
  Enter(name_);
  if (in_host_function) Abort(name_, "inside of a host function");
  count_++;
  if (captured_everywhere > 0 && capture_mode != kRelaxed && MayWait(name_))
    return kCaptureUnsupported;
  Calls& calls = AllCalls();
  if (calls.any) {
    const std::lock_guard lock(calls.mutex);
    const auto failure = calls.failures.find(name_);
    if (failure != calls.failures.end()) {
      const int result = failure->second.result;
      if (failure->second.after-- <= 0) {
        calls.failures.erase(failure);
        calls.any = !calls.failures.empty();
        if (result == kThrows) throw std::bad_alloc();
        return result;
      }
    }
  }
  if (!needs_context) return 0;
  if (current.empty()) return kInvalidContext;
  AwaitOthers(*current.back());
  return current.back()->lost ? kLaunchFailed : 0;
}

int64_t Call::CountOf(const std::string& name) {
  Calls& calls = AllCalls();
  const std::lock_guard lock(calls.mutex);
  int64_t count = 0;
  for (const auto& [known, number] : calls.all)
    if (name.empty() || name == known) count += *number;
  return count;
}

void Call::Fail(const std::string& name, int result, int after) {
  Calls& calls = AllCalls();
  const std::lock_guard lock(calls.mutex);
  calls.failures[name] = {result, after};
  calls.any = true;
}

bool Ends(int result) {
  return result == 0 || (result == kLaunchFailed && !current.empty() && current.back()->lost);
}

}  // namespace tritonts::fakes

using namespace tritonts::fakes;

EXPORTED int cuDevicePrimaryCtxRetain(Context** context, int device) {
  static Call call("cuDevicePrimaryCtxRetain");
  if (const int result = call.Begin(false)) return result;
  const int id = IdOf(device);
  if (id < 0) return kInvalidValue;
  AwaitOpening(id);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.contexts[id].id = id;
  state.contexts[id].retained++;
  *context = &state.contexts[id];
  return 0;
}

EXPORTED int cuDevicePrimaryCtxRelease_v2(int device) {
  static Call call("cuDevicePrimaryCtxRelease_v2");
  if (const int result = call.Begin(false)) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  Context& context = state.contexts[IdOf(device)];
  if (--context.retained < 0) Abort("cuDevicePrimaryCtxRelease_v2", "too often");
  // The next retain creates a new context.
  if (context.retained == 0) {
    context.lost = false;
    context.peers.clear();
    for (Context& other : state.contexts) other.peers.erase(&context);
  }
  return 0;
}

EXPORTED int cuCtxPushCurrent_v2(Context* context) {
  static Call call("cuCtxPushCurrent_v2");
  if (const int result = call.Begin(false)) return result;
  current.push_back(context);
  return 0;
}

EXPORTED int cuCtxPopCurrent_v2(Context** context) {
  static Call call("cuCtxPopCurrent_v2");
  if (const int result = call.Begin(false)) return result;
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return 0;
}

// --- For other fakes

EXPORTED bool fakeCudaInitialized() {
  return Initialized();
}

// The calling thread's context; null: none.
EXPORTED const void* fakeCudaCurrent() {
  return CurrentContext();
}
// Whether the device of a context is lost.
EXPORTED bool fakeCudaLost(const Context* context) {
  return context->lost;
}

// --- For tests

// Makes one call of the function return `result`, after `after` calls that succeed.
EXPORTED void fakeCudaFail(const char* function, int result, int after) {
  Call::Fail(function, result, after);
}

// The device stops working, and each call for it fails.
EXPORTED void fakeCudaLose(int id) {
  const std::lock_guard lock(Here().touches);
  Here().contexts[id].lost = true;
}

// The number of calls of the function; "": of all functions.
EXPORTED int64_t fakeCudaCalls(const char* function) {
  return Call::CountOf(function);
}

// The number of calls blocked by a call that waits for all work of its device.
EXPORTED int fakeCudaHeldUp() {
  return held_up;
}

// The numbers of live objects: contexts, device memory, pinned memory, streams, events, graphs.
EXPORTED void fakeCudaCount(int* counts) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  counts[0] = 0;
  for (const Context& context : state.contexts) counts[0] += context.retained;
  counts[1] = static_cast<int>(state.device.size());
  counts[2] = static_cast<int>(state.pinned.size());
  counts[3] = static_cast<int>(state.streams.size());
  counts[4] = state.events;
}

EXPORTED int cuThreadExchangeStreamCaptureMode(int* mode) {
  static tritonts::fakes::Call call("cuThreadExchangeStreamCaptureMode");
  if (const int result = call.Begin(false)) return result;
  std::swap(*mode, tritonts::fakes::capture_mode);
  return 0;
}

// A thread begins or ends a capture in the global mode, which affects all other threads.
EXPORTED void fakeCudaCaptureEverywhere(bool captures) {
  tritonts::fakes::captured_everywhere += captures ? 1 : -1;
}

// Streams, events and copies of the fake driver. Each stream has a thread, which runs enqueued work
// after a random delay.
//
//   TRITONTS_FAKE_DELAY_US    longest delay of a piece of work; default 0
//   TRITONTS_FAKE_KERNEL_US   duration of a kernel, by id of its device, such as "100,400";
//                             default 0
//   TRITONTS_FAKE_LOSE        such as "0:3": the GPU with this id is lost at its kernel with this
//                             number
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

constexpr unsigned kNonBlocking = 1;
constexpr unsigned kWithoutTiming = 2;

int64_t Now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

int KernelTimeOf(int id) {
  const char* text = std::getenv("TRITONTS_FAKE_KERNEL_US");
  for (int i = 0; text && i < id; i++) {
    text = std::strchr(text, ',');
    if (text) text++;
  }
  return text ? std::atoi(text) : 0;
}

// By device.
std::atomic<int64_t> kernels[kMostGpus];

// Counts a kernel. Returns true if its device is lost at this kernel.
bool LosesAtKernel(int id) {
  const int64_t count = ++kernels[id];
  int which = -1;
  int number = 0;
  const char* text = std::getenv("TRITONTS_FAKE_LOSE");
  if (!text || std::sscanf(text, "%d:%d", &which, &number) != 2) return false;
  return id == which && count == number;
}

}  // namespace

namespace tritonts::fakes {

void CheckContext(const char* function, const Stream* stream) {
  if (stream->context() != CurrentContext()) Abort(function, "without the context of the stream");
}

Stream::Stream(Context* context, int priority)
    : context_(context), priority_(priority), thread_([this] { Run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    work_.emplace_back(Kind::kOther, Work());
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::Put(Kind kind, Work work) {
  if (capture) {
    capture->work.emplace_back(kind, std::move(work));
    unjoined = this != capture->streams.front();
    return;
  }
  const std::lock_guard lock(mutex_);
  work_.emplace_back(kind, std::move(work));
  put_++;
  changed_.notify_all();
}

void Stream::PutTouching(Kind kind, Work work) {
  Put(kind, [context = context_, work = std::move(work)] {
    const std::shared_lock lock(Here().touches);
    if (!context->lost) work();
  });
}

void Stream::Synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [target = put_, this] { return done_ >= target; });
}

void Stream::Run() {
  std::minstd_rand random(std::random_device{}());
  const int delay = Number("TRITONTS_FAKE_DELAY_US", 0);
  const int kernel = KernelTimeOf(context_->id);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !work_.empty(); });
    const auto [kind, work] = std::move(work_.front());
    work_.pop_front();
    if (!work) return;
    lock.unlock();
    if (delay > 0) usleep(static_cast<unsigned>(random() % static_cast<unsigned>(delay)));
    if (kernel > 0 && kind == Kind::kKernel) usleep(static_cast<unsigned>(kernel));
    if (kind == Kind::kKernel) AwaitStep(context_->id);
    if (kind == Kind::kKernel && LosesAtKernel(context_->id)) context_->lost = true;
    // A lost device does no more work, and reports nothing.
    if (!context_->lost) Do(kind, work);
    lock.lock();
    done_++;
    changed_.notify_all();
  }
}

}  // namespace tritonts::fakes

EXPORTED int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  static Call call("cuCtxGetStreamPriorityRange");
  if (const int result = call.Begin()) return result;
  // As on real devices, smaller numbers mean higher priority.
  *least = 0;
  *greatest = -5;
  return 0;
}

EXPORTED int cuStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  static Call call("cuStreamCreateWithPriority");
  if (const int result = call.Begin()) return result;
  if (flags != kNonBlocking)
    Abort("cuStreamCreateWithPriority", "for a stream that waits for the default one");
  *stream = new Stream(CurrentContext(), priority);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.streams.insert(*stream);
  state.priorities[priority]++;
  return 0;
}

EXPORTED int cuStreamDestroy_v2(Stream* stream) {
  static Call call("cuStreamDestroy_v2");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  {
    State& state = Here();
    const std::lock_guard lock(state.mutex);
    state.streams.erase(stream);
    state.priorities[stream->priority()]--;
  }
  delete stream;
  return result;
}

EXPORTED int cuStreamSynchronize(Stream* stream) {
  static Call call("cuStreamSynchronize");
  if (const int result = call.Begin()) return result;
  if (stream->capture)
    if (const int result = RefuseInCapture()) return result;
  stream->Synchronize();
  return stream->context()->lost ? kLaunchFailed : 0;
}

EXPORTED int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  static Call call("cuStreamWaitEvent");
  if (const int result = call.Begin()) return result;
  std::unique_lock lock(event->mutex);
  if (event->captured) {
    // The stream joins the capture. Work recorded earlier precedes its work anyway.
    if (!stream->capture) {
      stream->capture = event->captured;
      stream->capture->streams.push_back(stream);
      stream->unjoined = true;
    }
    event->captured_on->unjoined = false;
    return 0;
  }
  const uint64_t target = event->recorded;
  lock.unlock();
  Context* const context = stream->context();
  stream->Put(Kind::kOther, [=, event = event->self] {
    std::unique_lock waiting(event->mutex);
    // A lost device passes no more events.
    while (event->passed < target && !context->lost)
      event->changed.wait_for(waiting, std::chrono::milliseconds(1));
  });
  return 0;
}

EXPORTED int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, Stream* stream) {
  static Call call("cuMemsetD8Async");
  if (const int result = call.Begin()) return result;
  CheckContext("cuMemsetD8Async", stream);
  char* const target = ShadowOf("cuMemsetD8Async", to, bytes);
  stream->PutTouching(Kind::kOther, [=] { std::memset(target, value, bytes); });
  return 0;
}

EXPORTED int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream* stream) {
  static Call call("cuMemcpyHtoDAsync_v2");
  if (const int result = call.Begin()) return result;
  CheckContext("cuMemcpyHtoDAsync_v2", stream);
  char* const target = ShadowOf("cuMemcpyHtoDAsync_v2", to, bytes);
  stream->PutTouching(Kind::kUp, [=] { std::memcpy(target, from, bytes); });
  return 0;
}

EXPORTED int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream* stream) {
  static Call call("cuMemcpyDtoHAsync_v2");
  if (const int result = call.Begin()) return result;
  CheckContext("cuMemcpyDtoHAsync_v2", stream);
  const char* const source = ShadowOf("cuMemcpyDtoHAsync_v2", from, bytes);
  stream->PutTouching(Kind::kDown, [=] { std::memcpy(to, source, bytes); });
  return 0;
}

EXPORTED int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
  static Call call("cuMemcpyDtoDAsync_v2");
  if (const int result = call.Begin()) return result;
  CheckContext("cuMemcpyDtoDAsync_v2", stream);
  char* const target = ShadowOf("cuMemcpyDtoDAsync_v2", to, bytes, CurrentContext());
  const char* const source = ShadowOf("cuMemcpyDtoDAsync_v2", from, bytes, CurrentContext());
  stream->PutTouching(Kind::kOther, [=] { std::memcpy(target, source, bytes); });
  return 0;
}

EXPORTED int cuEventCreate(Event** event, unsigned flags) {
  static Call call("cuEventCreate");
  if (const int result = call.Begin()) return result;
  const auto made = std::make_shared<Event>();
  made->self = made;
  *event = made.get();
  (*event)->context = CurrentContext();
  (*event)->timed = (flags & kWithoutTiming) == 0;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.events++;
  return 0;
}

EXPORTED int cuEventDestroy_v2(Event* event) {
  static Call call("cuEventDestroy_v2");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  event->self.reset();
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.events--;
  return result;
}

EXPORTED int cuEventRecord(Event* event, Stream* stream) {
  static Call call("cuEventRecord");
  if (const int result = call.Begin()) return result;
  CheckContext("cuEventRecord", stream);
  if (event->context != stream->context()) Abort("cuEventRecord", "with another device's event");
  {
    const std::lock_guard lock(event->mutex);
    event->captured = stream->capture;
    event->captured_on = stream;
    if (stream->capture) return 0;
    event->recorded++;
  }
  stream->Put(Kind::kOther, [event = event->self] {
    const std::lock_guard lock(event->mutex);
    event->passed++;
    event->passed_ns = Now();
    event->changed.notify_all();
  });
  return 0;
}

EXPORTED int cuEventQuery(Event* event) {
  static Call call("cuEventQuery");
  if (const int result = call.Begin()) return result;
  const std::lock_guard lock(event->mutex);
  if (event->captured) return kCapturedEvent;
  return event->passed == event->recorded ? 0 : kNotReady;
}

EXPORTED int cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  static Call call("cuEventElapsedTime");
  if (const int result = call.Begin()) return result;
  int64_t at[2] = {};
  for (int i = 0; i < 2; i++) {
    Event& event = i == 0 ? *from : *to;
    const std::lock_guard lock(event.mutex);
    if (!event.timed) Abort("cuEventElapsedTime", "with an event that has no times");
    if (event.passed != event.recorded) return kNotReady;
    if (event.recorded == 0) Abort("cuEventElapsedTime", "with an event that was never recorded");
    at[i] = event.passed_ns;
  }
  *milliseconds = static_cast<float>(static_cast<double>(at[1] - at[0]) / 1e6);
  return 0;
}

EXPORTED int cuEventSynchronize(Event* event) {
  static Call call("cuEventSynchronize");
  if (const int result = call.Begin()) return result;
  Context* const context = CurrentContext();
  std::unique_lock lock(event->mutex);
  while (event->passed < event->recorded && !context->lost)
    event->changed.wait_for(lock, std::chrono::milliseconds(100));
  return context->lost ? kLaunchFailed : 0;
}

EXPORTED int cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  static Call call("cuLaunchHostFunc");
  if (const int result = call.Begin()) return result;
  CheckContext("cuLaunchHostFunc", stream);
  stream->Put(Kind::kOther, [=] {
    SetInHostFunction(true);
    function(data);
    SetInHostFunction(false);
  });
  return 0;
}

// For other fakes: runs a copy of the function as a kernel.
EXPORTED int fakeCudaLaunch(Stream* stream, const std::function<void()>* kernel) {
  static Call call("fakeCudaLaunch");
  if (const int result = call.Begin()) return result;
  CheckContext("fakeCudaLaunch", stream);
  stream->PutTouching(Kind::kKernel, *kernel);
  return 0;
}

// --- For tests

// The number of streams with this priority.
EXPORTED int fakeCudaStreamsOf(int priority) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  return state.priorities[priority];
}

// The number of a device's kernels that have begun.
EXPORTED int64_t fakeCudaKernels(int id) {
  return kernels[id];
}

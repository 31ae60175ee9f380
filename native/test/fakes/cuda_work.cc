// The fake driver's contexts, memory, streams and events.
//
// Device memory is mapped twice. At its address nobody may read or write, so a processor that takes
// it for its own crashes. The fake itself uses the other mapping. Streams have threads of their
// own; what is enqueued happens there, after a random delay.
//
//   TRITONTS_FAKE_DELAY_US   the longest delay of a piece of work; default 0
//
// Functions named fakeCuda… are for tests and for other fakes.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cuda_driver.h"

namespace {

using namespace tritonts::fakes;

constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kLaunchFailed = 719;

struct Context {
  int id = 0;
  int retained = 0;
  std::atomic<bool> lost{false};
};

struct Allocation {
  size_t size = 0;
  char* shadow = nullptr;
  Context* context = nullptr;
};

struct Failure {
  int result = 0;
  int after = 0;  // calls that still succeed
};

// Never destroyed, as streams may outlive static destructors.
struct State {
  std::mutex mutex;  // guards all
  Context contexts[kMostGpus];
  std::map<uint64_t, Allocation> device;
  std::map<void*, size_t> pinned;
  std::map<std::string, Failure> failures;
  int streams = 0;
  int events = 0;
};
State& Here() {
  static auto* const state = new State();
  return *state;
}

thread_local std::vector<Context*> current;
thread_local bool in_host_function = false;

// What a call returns before it does anything.
int Begin(const char* function, bool needs_context = true) {
  Enter(function);
  if (in_host_function) Abort(function, "inside of a host function");
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  const auto failure = state.failures.find(function);
  if (failure != state.failures.end()) {
    const int result = failure->second.result;
    if (failure->second.after-- <= 0) {
      state.failures.erase(failure);
      return result;
    }
  }
  if (!needs_context) return 0;
  if (current.empty()) return kInvalidContext;
  return current.back()->lost ? kLaunchFailed : 0;
}

// Whether a call that destroys something does so: also on a lost device, which it then tells.
bool Ends(int result) {
  return result == 0 || (result == kLaunchFailed && !current.empty() && current.back()->lost);
}

// The fake's own address of device memory. The process ends if it is none, or too small.
char* ShadowOf(const char* function, uint64_t address, size_t size) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  auto found = state.device.upper_bound(address);
  if (found == state.device.begin()) Abort(function, "with an address that is not a device's");
  --found;
  if (address + size > found->first + found->second.size)
    Abort(function, "beyond the end of device memory");
  return found->second.shadow + (address - found->first);
}

size_t Pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

struct Event {
  std::atomic<int> recorded{0};
  std::atomic<int> passed{0};
};

class Stream {
 public:
  explicit Stream(Context* context) : context_(context), thread_([this] { Run(); }) {}
  ~Stream() {
    Put({});
    thread_.join();
  }
  void Put(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    put_++;
    changed_.notify_all();
  }
  void Synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [target = put_, this] { return done_ >= target; });
  }
  Context* context() const { return context_; }

 private:
  void Run() {
    std::minstd_rand random(std::random_device{}());
    const int delay = Number("TRITONTS_FAKE_DELAY_US", 0);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      if (!work) return;
      lock.unlock();
      if (delay > 0) usleep(static_cast<unsigned>(random() % static_cast<unsigned>(delay)));
      // A lost device does nothing more, and tells nobody.
      if (!context_->lost) work();
      lock.lock();
      done_++;
      changed_.notify_all();
    }
  }

  Context* const context_;
  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  uint64_t put_ = 0;
  uint64_t done_ = 0;
  std::thread thread_;
};

}  // namespace

EXPORTED int cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (const int result = Begin("cuDevicePrimaryCtxRetain", false)) return result;
  const int id = IdOf(device);
  if (id < 0) return kInvalidValue;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.contexts[id].id = id;
  state.contexts[id].retained++;
  *context = &state.contexts[id];
  return 0;
}

EXPORTED int cuDevicePrimaryCtxRelease_v2(int device) {
  if (const int result = Begin("cuDevicePrimaryCtxRelease_v2", false)) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  Context& context = state.contexts[IdOf(device)];
  if (--context.retained < 0) Abort("cuDevicePrimaryCtxRelease_v2", "too often");
  // The next one is a new context.
  if (context.retained == 0) context.lost = false;
  return 0;
}

EXPORTED int cuCtxPushCurrent_v2(Context* context) {
  if (const int result = Begin("cuCtxPushCurrent_v2", false)) return result;
  current.push_back(context);
  return 0;
}

EXPORTED int cuCtxPopCurrent_v2(Context** context) {
  if (const int result = Begin("cuCtxPopCurrent_v2", false)) return result;
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return 0;
}

EXPORTED int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (const int result = Begin("cuMemAlloc_v2")) return result;
  if (bytes == 0) return kInvalidValue;
  const size_t size = Pages(bytes);
  const int file = memfd_create("fake-device", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return 2;
  void* const hidden = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  void* const shadow = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (hidden == MAP_FAILED || shadow == MAP_FAILED) return 2;
  std::memset(shadow, 0xcd, size);
  *address = reinterpret_cast<uint64_t>(hidden);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.device[*address] = {bytes, static_cast<char*>(shadow), current.back()};
  return 0;
}

EXPORTED int cuMemFree_v2(uint64_t address) {
  const int result = Begin("cuMemFree_v2");
  if (!Ends(result)) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  const auto found = state.device.find(address);
  if (found == state.device.end()) Abort("cuMemFree_v2", "with an address that is not a device's");
  munmap(reinterpret_cast<void*>(address), Pages(found->second.size));
  munmap(found->second.shadow, Pages(found->second.size));
  state.device.erase(found);
  return result;
}

EXPORTED int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  if (const int result = Begin("cuMemHostAlloc")) return result;
  *memory = std::malloc(bytes);
  if (!*memory) return 2;
  std::memset(*memory, 0xab, bytes);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.pinned[*memory] = bytes;
  return 0;
}

EXPORTED int cuMemFreeHost(void* memory) {
  const int result = Begin("cuMemFreeHost");
  if (!Ends(result)) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  if (state.pinned.erase(memory) == 0) Abort("cuMemFreeHost", "with memory that is not pinned");
  std::free(memory);
  return result;
}

EXPORTED int cuStreamCreate(Stream** stream, unsigned) {
  if (const int result = Begin("cuStreamCreate")) return result;
  *stream = new Stream(current.back());
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.streams++;
  return 0;
}

EXPORTED int cuStreamDestroy_v2(Stream* stream) {
  const int result = Begin("cuStreamDestroy_v2");
  if (!Ends(result)) return result;
  delete stream;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.streams--;
  return result;
}

EXPORTED int cuStreamSynchronize(Stream* stream) {
  if (const int result = Begin("cuStreamSynchronize")) return result;
  stream->Synchronize();
  return stream->context()->lost ? kLaunchFailed : 0;
}

EXPORTED int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream* stream) {
  if (const int result = Begin("cuMemcpyHtoDAsync_v2")) return result;
  char* const target = ShadowOf("cuMemcpyHtoDAsync_v2", to, bytes);
  stream->Put([=] { std::memcpy(target, from, bytes); });
  return 0;
}

EXPORTED int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream* stream) {
  if (const int result = Begin("cuMemcpyDtoHAsync_v2")) return result;
  const char* const source = ShadowOf("cuMemcpyDtoHAsync_v2", from, bytes);
  stream->Put([=] { std::memcpy(to, source, bytes); });
  return 0;
}

EXPORTED int cuEventCreate(Event** event, unsigned) {
  if (const int result = Begin("cuEventCreate")) return result;
  *event = new Event();
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.events++;
  return 0;
}

EXPORTED int cuEventDestroy_v2(Event* event) {
  const int result = Begin("cuEventDestroy_v2");
  if (!Ends(result)) return result;
  delete event;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.events--;
  return result;
}

EXPORTED int cuEventRecord(Event* event, Stream* stream) {
  if (const int result = Begin("cuEventRecord")) return result;
  event->recorded++;
  stream->Put([event] { event->passed++; });
  return 0;
}

EXPORTED int cuEventQuery(Event* event) {
  if (const int result = Begin("cuEventQuery")) return result;
  return event->passed == event->recorded ? 0 : kNotReady;
}

EXPORTED int cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  if (const int result = Begin("cuLaunchHostFunc")) return result;
  stream->Put([=] {
    in_host_function = true;
    function(data);
    in_host_function = false;
  });
  return 0;
}

// --- For other fakes

EXPORTED bool fakeCudaInitialized() {
  return Initialized();
}

// Runs a copy of the function as a kernel.
EXPORTED int fakeCudaLaunch(Stream* stream, const std::function<void()>* kernel) {
  if (const int result = Begin("fakeCudaLaunch")) return result;
  stream->Put(*kernel);
  return 0;
}

// Where a kernel finds device memory.
EXPORTED void* fakeCudaShadow(uint64_t address, size_t bytes) {
  return ShadowOf("a kernel", address, bytes);
}

// --- For tests

// A call of the function returns this once, after so many that succeed.
EXPORTED void fakeCudaFail(const char* function, int result, int after) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.failures[function] = {result, after};
}

// The device does no more work, and each call for it fails.
EXPORTED void fakeCudaLose(int id) {
  Here().contexts[id].lost = true;
}

// How many objects there are: contexts, device memory, pinned memory, streams, events.
EXPORTED void fakeCudaCount(int* counts) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  counts[0] = 0;
  for (const Context& context : state.contexts) counts[0] += context.retained;
  counts[1] = static_cast<int>(state.device.size());
  counts[2] = static_cast<int>(state.pinned.size());
  counts[3] = state.streams;
  counts[4] = state.events;
}

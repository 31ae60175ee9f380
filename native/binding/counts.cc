#include "counts.h"

#if defined(TRITONTS_COUNTS)

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>

namespace {

struct Counts {
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> locks{0};
  std::atomic<uint64_t> contended{0};
  std::atomic<uint64_t> signals{0};
  std::atomic<uint64_t> sleeps{0};
  std::atomic<uint64_t> wakes{0};
  std::atomic<uint64_t> yields{0};
  std::atomic<uint64_t> usages{0};
  std::atomic<uint64_t> maps{0};
  std::atomic<uint64_t> copied{0};
};
Counts counts;

void Add(std::atomic<uint64_t>& count) {
  count.fetch_add(1, std::memory_order_relaxed);
}

// The n-th of the thread's next allocations fails, counted from 1; 0: none.
thread_local uint32_t failing = 0;

// Counts an allocation, and returns whether it may succeed.
bool MayAllocate() {
  Add(counts.allocations);
  return failing == 0 || --failing != 0;
}

void* AllocateOrNull(size_t size, size_t alignment) {
  if (!MayAllocate()) return nullptr;
  void* memory = nullptr;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return posix_memalign(&memory, least, size ? size : 1) == 0 ? memory : nullptr;
}

void* Allocate(size_t size, size_t alignment) {
  void* memory = AllocateOrNull(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// --- Replaces the operators for this library only: its symbols are private.
void* operator new(size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

// --- The linker redirects this library's calls of these functions here (see CMakeLists.txt).
extern "C" {

// The compiler expands calls with a constant size itself.
void* __real_memcpy(void* to, const void* from, size_t size);
void* __wrap_memcpy(void* to, const void* from, size_t size) {
  counts.copied.fetch_add(size, std::memory_order_relaxed);
  return __real_memcpy(to, from, size);
}

void* __real_memmove(void* to, const void* from, size_t size);
void* __wrap_memmove(void* to, const void* from, size_t size) {
  counts.copied.fetch_add(size, std::memory_order_relaxed);
  return __real_memmove(to, from, size);
}

void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  if (!MayAllocate()) return nullptr;
  return __real_aligned_alloc(alignment, size);
}

void* __real___cxa_allocate_exception(size_t size);
void* __wrap___cxa_allocate_exception(size_t size) {
  Add(counts.allocations);
  return __real___cxa_allocate_exception(size);
}

void* __real_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  Add(counts.maps);
  if (!MayAllocate()) return MAP_FAILED;
  return __real_mmap(address, size, protection, flags, file, offset);
}

int __real_munmap(void* address, size_t size);
int __wrap_munmap(void* address, size_t size) {
  Add(counts.maps);
  return __real_munmap(address, size);
}

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  Add(counts.locks);
  if (pthread_mutex_trylock(mutex) == 0) return 0;
  Add(counts.contended);
  return __real_pthread_mutex_lock(mutex);
}

int __real_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until);
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  Add(counts.sleeps);
  return __real_pthread_cond_clockwait(condition, mutex, clock, until);
}

void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>& lock);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  Add(counts.sleeps);
  __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
}

void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition);
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
  Add(counts.signals);
  __real__ZNSt18condition_variable10notify_oneEv(condition);
}

void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition);
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
  Add(counts.signals);
  __real__ZNSt18condition_variable10notify_allEv(condition);
}

int __real_sched_yield();
int __wrap_sched_yield() {
  Add(counts.yields);
  return __real_sched_yield();
}

int __real_getrusage(__rusage_who_t who, rusage* usage);
int __wrap_getrusage(__rusage_who_t who, rusage* usage) {
  Add(counts.usages);
  return __real_getrusage(who, usage);
}

napi_status __real_napi_call_threadsafe_function(napi_threadsafe_function function, void* data,
                                                 napi_threadsafe_function_call_mode mode);
napi_status __wrap_napi_call_threadsafe_function(napi_threadsafe_function function, void* data,
                                                 napi_threadsafe_function_call_mode mode) {
  Add(counts.wakes);
  return __real_napi_call_threadsafe_function(function, data, mode);
}

// Fails if a test requests it, because it cannot be made to fail otherwise.
napi_status __real_napi_create_threadsafe_function(napi_env env, napi_value function,
                                                   napi_value resource, napi_value name,
                                                   size_t most_queued, size_t threads, void* data,
                                                   napi_finalize finalize, void* context,
                                                   napi_threadsafe_function_call_js call,
                                                   napi_threadsafe_function* result);
napi_status __wrap_napi_create_threadsafe_function(napi_env env, napi_value function,
                                                   napi_value resource, napi_value name,
                                                   size_t most_queued, size_t threads, void* data,
                                                   napi_finalize finalize, void* context,
                                                   napi_threadsafe_function_call_js call,
                                                   napi_threadsafe_function* result) {
  // The number of calls that still succeed.
  static const char* const left = std::getenv("TRITONTS_TEST_SAFE_FUNCTIONS");
  static std::atomic<int> through{left ? std::atoi(left) : -1};
  if (left && through.fetch_sub(1) <= 0) return napi_generic_failure;
  return __real_napi_create_threadsafe_function(env, function, resource, name, most_queued, threads,
                                                data, finalize, context, call, result);
}

}  // extern "C"

namespace tritonts {

void BeginCounts() {
  if (const char* const number = std::getenv("TRITONTS_TEST_FAIL_AT_LOAD")) {
    failing = static_cast<uint32_t>(std::atoi(number));
  }
}

void DefineCounts(Napi::Env env, Napi::Object exports) {
  const auto read = [](const Napi::CallbackInfo& info) -> Napi::Value {
    Napi::Object object = Napi::Object::New(info.Env());
    const auto set = [&](const char* name, const std::atomic<uint64_t>& count) {
      object.Set(name, Napi::Number::New(info.Env(), static_cast<double>(count.load())));
    };
    set("allocations", counts.allocations);
    set("locks", counts.locks);
    set("contended", counts.contended);
    set("signals", counts.signals);
    set("sleeps", counts.sleeps);
    set("wakes", counts.wakes);
    set("yields", counts.yields);
    set("usages", counts.usages);
    set("maps", counts.maps);
    set("copied", counts.copied);
    return object;
  };
  exports.Set("counts", Napi::Function::New(env, read));
  const auto fail = [](const Napi::CallbackInfo& info) -> Napi::Value {
    const uint32_t left = failing;
    failing = info[0].As<Napi::Number>().Uint32Value();
    return Napi::Number::New(info.Env(), left);
  };
  exports.Set("failAllocation", Napi::Function::New(env, fail));
}

}  // namespace tritonts

#else

namespace tritonts {

void BeginCounts() {}
void DefineCounts(Napi::Env, Napi::Object) {}

}  // namespace tritonts

#endif

#if defined(TRITONTS_COUNTS)

#include "counts.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>

namespace {

struct Counts {
  std::atomic<uint64_t> allocations{0};  // by C++ code of this library
  std::atomic<uint64_t> locks{0};        // mutexes taken
  std::atomic<uint64_t> signals{0};      // condition variables notified
  std::atomic<uint64_t> sleeps{0};       // waits for one
  std::atomic<uint64_t> wakes{0};        // signals to an event loop
};
Counts counts;

void Add(std::atomic<uint64_t>& count) {
  count.fetch_add(1, std::memory_order_relaxed);
}

void* Allocate(size_t size, size_t alignment) {
  Add(counts.allocations);
  void* memory = nullptr;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  if (posix_memalign(&memory, least, size ? size : 1) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

// --- Replaces the operators for this library alone: its symbols are its own.
void* operator new(size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](size_t size) {
  return Allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
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

// --- The linker sends our calls of these functions here (CMakeLists.txt names them).
extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  Add(counts.locks);
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

napi_status __real_napi_call_threadsafe_function(napi_threadsafe_function function, void* data,
                                                 napi_threadsafe_function_call_mode mode);
napi_status __wrap_napi_call_threadsafe_function(napi_threadsafe_function function, void* data,
                                                 napi_threadsafe_function_call_mode mode) {
  Add(counts.wakes);
  return __real_napi_call_threadsafe_function(function, data, mode);
}

}  // extern "C"

namespace tritonts {

void DefineCounts(Napi::Env env, Napi::Object exports) {
  const auto read = [](const Napi::CallbackInfo& info) -> Napi::Value {
    Napi::Object object = Napi::Object::New(info.Env());
    const auto set = [&](const char* name, const std::atomic<uint64_t>& count) {
      object.Set(name, Napi::Number::New(info.Env(), static_cast<double>(count.load())));
    };
    set("allocations", counts.allocations);
    set("locks", counts.locks);
    set("signals", counts.signals);
    set("sleeps", counts.sleeps);
    set("wakes", counts.wakes);
    return object;
  };
  exports.Set("counts", Napi::Function::New(env, read));
}

}  // namespace tritonts

#endif

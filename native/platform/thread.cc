#include "thread.h"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#if defined(_WIN32)
#include <process.h>
#include <windows.h>
#elif defined(__linux__)
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if !defined(_WIN32)
#include <time.h>
#endif

namespace tritonts::platform {

namespace {

using Body = std::function<void()>;

#if defined(_WIN32)
unsigned __stdcall RunBody(void* body) {
#else
void* RunBody(void* body) noexcept {
#endif
  const std::unique_ptr<Body> owner(static_cast<Body*>(body));
  (*owner)();
  return {};
}

}  // namespace

Thread::~Thread() {
  // As with std::thread, a thread that was not joined or detached is fatal: it would use freed
  // memory.
  if (joinable_) std::terminate();
}

Thread::Thread(Thread&& other) noexcept
    : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  if (joinable_) std::terminate();
  handle_ = other.handle_;
  joinable_ = std::exchange(other.joinable_, false);
  return *this;
}

bool Thread::Start(Body body) {
  if (joinable_) std::terminate();
  std::unique_ptr<Body> owner(new (std::nothrow) Body(std::move(body)));
  if (!owner) return false;
#if defined(_WIN32)
  handle_ =
      reinterpret_cast<void*>(_beginthreadex(nullptr, unsigned{kStackBytes}, RunBody, owner.get(),
                                             STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr));
  joinable_ = handle_ != nullptr;
#else
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  joinable_ = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
              pthread_create(&handle_, &attributes, RunBody, owner.get()) == 0;
  pthread_attr_destroy(&attributes);
#endif
  if (joinable_) (void)owner.release();  // the thread owns it now
  return joinable_;
}

void Thread::Join() {
  if (!std::exchange(joinable_, false)) return;
#if defined(_WIN32)
  WaitForSingleObject(handle_, INFINITE);
  CloseHandle(handle_);
#else
  pthread_join(handle_, nullptr);
#endif
}

void Thread::Detach() {
  if (!std::exchange(joinable_, false)) return;
#if defined(_WIN32)
  CloseHandle(handle_);
#else
  pthread_detach(handle_);
#endif
}

#if defined(__linux__)
namespace {

// The first version of the kernel's struct sched_attr, which not every C library declares.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};
constexpr uint32_t kOtherPolicy = 0;  // SCHED_OTHER

// The scheduler prefers threads with shorter slices. An event loop's slice is the default, at most
// 3 ms.
constexpr uint64_t kSliceNs = 10'000'000;

}  // namespace

void NameThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}
void UseExactTimers() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}
void UseLongSlices() {
  SchedulingAttributes attributes{};
  constexpr unsigned kSize = sizeof(attributes);
  if (syscall(SYS_sched_getattr, 0, &attributes, kSize, 0) != 0) return;
  // Another policy was chosen on purpose, so it stays.
  if (attributes.policy != kOtherPolicy) return;
  attributes.size = kSize;
  attributes.runtime = kSliceNs;
  // A sandbox may forbid the call. Then slices stay as they are.
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}
uint64_t Preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}
#elif defined(__APPLE__)
void NameThread(const char* name) {
  pthread_setname_np(name);
}
void UseExactTimers() {}
void UseLongSlices() {}
uint64_t Preemptions() {
  return 0;
}
#else
void NameThread(const char* name) {
  // Windows 10 has it from version 1607 on.
  using SetDescription = HRESULT(WINAPI*)(HANDLE, PCWSTR);
  const auto set = reinterpret_cast<SetDescription>(reinterpret_cast<void*>(
      GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription")));
  if (!set) return;
  // Names are ASCII.
  set(GetCurrentThread(), std::wstring(name, name + std::strlen(name)).c_str());
}
void UseExactTimers() {
  // The process' waits then end within a millisecond, and not with the next tick of 15.6 ms.
  using BeginPeriod = UINT(WINAPI*)(UINT);
  const HMODULE library = LoadLibraryExW(L"winmm.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (!library) return;
  const auto begin = reinterpret_cast<BeginPeriod>(
      reinterpret_cast<void*>(GetProcAddress(library, "timeBeginPeriod")));
  if (begin) begin(1);
}
void UseLongSlices() {}
uint64_t Preemptions() {
  return 0;
}
#endif

uint64_t ThreadTimeNs() {
#if defined(_WIN32)
  return 0;
#else
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
#endif
}

}  // namespace tritonts::platform

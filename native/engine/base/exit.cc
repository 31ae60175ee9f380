#include "engine/base/exit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

#include "engine/base/clock.h"

namespace tritonts {

namespace {

constexpr uint64_t kExitWaitNs = 2'000'000'000;

// Exit concerns the whole process, so this state has file scope.
std::atomic<int> runtime_calls{0};
std::atomic<int> abandoned_calls{0};
std::atomic<int> coreless_calls{0};
thread_local int depth = 0;  // nesting depth of calls on this thread that take a core
std::atomic<bool> exiting{false};
std::atomic<int> exit_code{0};
std::atomic<uint64_t> exit_deadline_ns{UINT64_MAX};

void BeginExit() {
  exiting.store(true);
  uint64_t unset = UINT64_MAX;
  exit_deadline_ns.compare_exchange_strong(unset, NowNs() + kExitWaitNs);
}

// The exit handler. It runs before the destructors of every library that was loaded before the
// handler was registered.
void LeaveRuntimes(int code) {
  BeginExit();
#if defined(_WIN32)
  // On Windows, exit handlers of a library run under the loader's lock, after the system has ended
  // all other threads. A call that was under way never returns, so waiting for it would hang.
  // PrepareExit's caller has already waited. TerminateProcess is used because _exit would go
  // through the loader again.
  if (runtime_calls.load() > 0) TerminateProcess(GetCurrentProcess(), static_cast<UINT>(code));
#else
  WaitForRuntimes();
  if (runtime_calls.load() > 0) _exit(code);
#endif
}

}  // namespace

// The constructor counts first and then reads `exiting`. The handler sets `exiting` first and then
// reads the count. So at least one of them sees the other.
RuntimeCall::RuntimeCall(bool takes_core) : takes_core_(takes_core) {
  // Nested calls of a thread take only one core.
  if (!takes_core_ || depth++ > 0) coreless_calls.fetch_add(1, std::memory_order_relaxed);
  runtime_calls.fetch_add(1);
  allowed_ = !exiting.load();
}
RuntimeCall::~RuntimeCall() {
  runtime_calls.fetch_sub(1);
  if (!takes_core_ || --depth > 0) coreless_calls.fetch_sub(1, std::memory_order_relaxed);
}
void CountAbandonedCalls(int change) {
  abandoned_calls.fetch_add(change);
}

uint32_t RunsUnderWay() {
  const int calls = runtime_calls.load(std::memory_order_relaxed);
  const int uncounted = coreless_calls.load(std::memory_order_relaxed) +
                        abandoned_calls.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(std::max(0, calls - uncounted));
}

void PrepareExit(int code) {
  exit_code.store(code);
  BeginExit();
  static std::once_flag once;
  std::call_once(once, OnRuntimeLibraryOpened);
}

void WaitForRuntimes() {
  while (runtime_calls.load() > abandoned_calls.load() && NowNs() < exit_deadline_ns.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

uint64_t ExitDeadlineNs() {
  return exit_deadline_ns.load();
}

bool Exiting() {
  return exiting.load(std::memory_order_relaxed);
}

void OnRuntimeLibraryOpened() {
#if defined(__GLIBC__)
  // on_exit passes the code that the process really exits with.
  on_exit([](int code, void*) { LeaveRuntimes(code); }, nullptr);
#else
  std::atexit([] { LeaveRuntimes(exit_code.load()); });
#endif
}

}  // namespace tritonts

#include "exit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

#include "clock.h"

namespace tritonts {

namespace {

constexpr uint64_t kExitWaitNs = 2'000'000'000;

// The process' own exit is the one thing that really is state of the process.
std::atomic<int> runtime_calls{0};
std::atomic<int> given_up_calls{0};
std::atomic<bool> exiting{false};
std::atomic<int> exit_code{0};
std::atomic<uint64_t> exit_deadline_ns{UINT64_MAX};

void BeginExit() {
  exiting.store(true);
  uint64_t unset = UINT64_MAX;
  exit_deadline_ns.compare_exchange_strong(unset, NowNs() + kExitWaitNs);
}

// Runs before the destructors of what was loaded before it was registered.
void LeaveRuntimes(int code) {
  BeginExit();
  WaitForRuntimes();
  if (runtime_calls.load() > 0) _exit(code);
}

}  // namespace

// First counted, then asked, while the handler first forbids and then counts: one sees the other.
RuntimeCall::RuntimeCall() {
  runtime_calls.fetch_add(1);
  allowed_ = !exiting.load();
}
RuntimeCall::~RuntimeCall() {
  runtime_calls.fetch_sub(1);
}
void CountGivenUpCalls(int change) {
  given_up_calls.fetch_add(change);
}

uint32_t RunsUnderWay() {
  const int calls = runtime_calls.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(std::max(0, calls - given_up_calls.load(std::memory_order_relaxed)));
}

void PrepareExit(int code) {
  exit_code.store(code);
  BeginExit();
  static std::once_flag once;
  std::call_once(once, OnRuntimeLibraryOpened);
}

void WaitForRuntimes() {
  while (runtime_calls.load() > given_up_calls.load() && NowNs() < exit_deadline_ns.load()) {
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
  // Its handlers are told the code that the process really exits with.
  on_exit([](int code, void*) { LeaveRuntimes(code); }, nullptr);
#else
  std::atexit([] { LeaveRuntimes(exit_code.load()); });
#endif
}

}  // namespace tritonts

#include "engine/base/exit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "engine/base/clock.h"
#include "platform/process_exit.h"

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
  // Where handlers may not wait, PrepareExit's caller has waited.
  if (platform::kExitHandlersMayWait) WaitForRuntimes();
  if (runtime_calls.load() > 0) platform::LeaveAtOnce(code);
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
  platform::OnProcessExit(LeaveRuntimes, [] { return exit_code.load(); });
}

}  // namespace tritonts

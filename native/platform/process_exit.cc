#include "process_exit.h"

#include <cstdlib>

#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

#if !defined(__GLIBC__)
#include <mutex>
#include <utility>
#include <vector>
#endif

namespace tritonts::platform {

#if defined(_WIN32)

const bool kExitHandlersMayWait = false;

void LeaveAtOnce(int code) {
  // _exit would go through the loader again.
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(code));
  std::abort();  // not reached
}

#else

const bool kExitHandlersMayWait = true;

void LeaveAtOnce(int code) {
  _exit(code);
}

#endif

#if defined(__GLIBC__)

void OnProcessExit(void (*handler)(int code), int (*)()) {
  on_exit([](int code, void* data) { reinterpret_cast<void (*)(int)>(data)(code); },
          reinterpret_cast<void*>(handler));
}

#else

namespace {

// The handlers that have not run, and their mutex. Never destroyed, because they run at exit.
struct Handlers {
  std::mutex mutex;
  std::vector<std::pair<void (*)(int), int (*)()> > waiting;
};
Handlers& AllHandlers() {
  static auto* const handlers = new Handlers();
  return *handlers;
}

void RunLast() {
  Handlers& all = AllHandlers();
  std::pair<void (*)(int), int (*)()> last;
  {
    const std::lock_guard lock(all.mutex);
    last = all.waiting.back();
    all.waiting.pop_back();
  }
  last.first(last.second());
}

}  // namespace

void OnProcessExit(void (*handler)(int code), int (*otherwise)()) {
  Handlers& all = AllHandlers();
  const std::lock_guard lock(all.mutex);
  all.waiting.emplace_back(handler, otherwise);
  std::atexit(RunLast);
}

#endif

}  // namespace tritonts::platform

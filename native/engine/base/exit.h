// Ending the process while calls of runtimes are under way.
//
// A runtime crashes if its static destructors run while its threads still work. Two steps prevent
// this.
// - Before exit(), the JS thread calls PrepareExit, which keeps new calls from starting. Then it
//   calls WaitForRuntimes, which gives calls under way a little time. Those calls have been asked
//   to end. Both must precede exit(), because a runtime that is being loaded still registers
//   destructors.
// - An exit handler waits once more, for processes that exit without these two functions. It leaves
//   with _exit if a call still runs. The handler is registered again after each runtime library is
//   opened, so that it runs before the destructors of that library.
#pragma once

#include <cstdint>

namespace tritonts {

// Marks the time during which a runtime executes on a thread of the engine. Any thread may make
// one.
class RuntimeCall {
 public:
  // `takes_core` is false for a call that only hands work over and returns.
  explicit RuntimeCall(bool takes_core = true);
  ~RuntimeCall();
  // False: the process is exiting, so the runtime may be gone and must not be called.
  bool allowed() const { return allowed_; }
  RuntimeCall(const RuntimeCall&) = delete;
  RuntimeCall& operator=(const RuntimeCall&) = delete;

 private:
  bool allowed_;
  const bool takes_core_;
};

// Adds `change` to the number of abandoned calls. It is negative when an abandoned call has
// returned. Exit does not wait for abandoned calls, but must not run destructors while they
// execute. Any thread may call it.
void CountAbandonedCalls(int change);

// The number of threads with a call under way that takes a core and is not abandoned. Any
// thread may call it.
uint32_t RunsUnderWay();

// From now on no new call starts, and calls under way have 2 s to return. The process will exit
// with `code`. Any thread may call it.
void PrepareExit(int code);

// Waits until no runtime is executing, or the 2 s of PrepareExit are over. Any thread may call it,
// except one that executes a runtime.
void WaitForRuntimes();

// When the 2 s of PrepareExit end, by the clock of NowNs; UINT64_MAX while the process is not
// exiting. Any thread may call it.
uint64_t ExitDeadlineNs();

// Whether the process is exiting. Any thread may call it.
bool Exiting();

// Registers the exit handler. Backends call this after they have opened a runtime library. Any
// thread may call it.
void OnRuntimeLibraryOpened();

}  // namespace tritonts

// Ending the process while calls of runtimes are under way.
//
// Static destructors of a runtime that run beneath its threads crash. So before the process exits,
// on the JS thread, PrepareExit keeps new calls from starting, and WaitForRuntimes gives those
// under way, which were asked to end, a little time. That comes before exit(), because a runtime
// that is being loaded registers destructors as it goes. And an exit handler, registered again
// after each runtime library so that it runs before that library's destructors, waits once more,
// for processes that exit without telling, and leaves at once if something still runs.
#pragma once

#include <cstdint>

namespace tritonts {

// Marks a stretch in which a runtime is executing on one of our threads. Any thread.
class RuntimeCall {
 public:
  RuntimeCall();
  ~RuntimeCall();
  // False: the process is exiting, and the runtime may be gone already.
  bool allowed() const { return allowed_; }
  RuntimeCall(const RuntimeCall&) = delete;
  RuntimeCall& operator=(const RuntimeCall&) = delete;

 private:
  bool allowed_;
};

// Counts calls that were abandoned, or (negative) came back after all: exit does not wait for
// these, but must not return beneath them. Any thread.
void CountAbandonedCalls(int change);

// Calls that are under way and not abandoned. Any thread.
uint32_t RunsUnderWay();

// From now on nothing new starts, and what runs has 2 s; `code` is what the process will exit with.
// Any thread.
void PrepareExit(int code);

// Waits, while those 2 s last, until no runtime is executing. Any thread but those that execute
// one.
void WaitForRuntimes();

// When those 2 s end, by NowNs' clock; UINT64_MAX while the process does not exit. Any thread.
uint64_t ExitDeadlineNs();

// Whether PrepareExit was called. Any thread.
bool Exiting();

// Backends call this after they opened a runtime library. Any thread.
void OnRuntimeLibraryOpened();

}  // namespace tritonts

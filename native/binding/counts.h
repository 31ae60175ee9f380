// Counts the engine's calls of the system, to prove that the request path allocates nothing and
// takes few locks. Enabled by TRITONTS_COUNTS, in the tests' addon, if the linker can redirect
// calls (Linux, without a sanitizer). Otherwise nothing is counted or exported. When enabled,
// TRITONTS_TEST_SAFE_FUNCTIONS=<number> limits the thread-safe functions that the process can
// create, and TRITONTS_TEST_FAIL_AT_LOAD=<number> makes that allocation of an environment's load
// fail.
#pragma once

#include "setup.h"

namespace tritonts {

// JS thread. Call it first when an environment loads the addon.
void BeginCounts();

// JS thread. Exports `counts()`, which sums over all threads since the process began:
//   allocations  by `new`, of blocks, of pages and of exceptions
//   locks        mutexes locked, except when a condition variable relocks its mutex on waking
//   contended    locks that another thread held
//   signals      notifications of condition variables
//   sleeps       waits for condition variables
//   wakes        wake-ups of an event loop
//   yields       calls that yield the thread's time slice
//   usages       calls that read a thread's resource usage
//   maps         mappings made or released
//   copied       bytes passed to memcpy and memmove
// Calls by the runtime, Node and V8 are not counted.
//
// Also exports `failAllocation(n)`: the n-th allocation of this thread from now on fails, once; 0:
// none fails. Returns how many allocations remained of the previous request, or 0.
void DefineCounts(Napi::Env env, Napi::Object exports);

}  // namespace tritonts

// Counts what the engine asks of the system: proof that the path of a request allocates nothing and
// takes few locks. With TRITONTS_COUNTS, which the tests' addon has where the linker can send calls
// elsewhere (Linux, without a sanitizer); without it nothing is counted and nothing defined. There,
// TRITONTS_TEST_SAFE_FUNCTIONS=<number> limits the thread-safe functions that the process may make,
// and TRITONTS_TEST_FAIL_AT_LOAD=<number> lets that allocation of an environment's load fail.
#pragma once

#include "setup.h"

namespace tritonts {

// JS thread, first of all: the environment loads the addon.
void BeginCounts();

// JS thread. Adds `counts()` to the addon's exports: of all threads since the process began,
//   allocations  by `new`, of blocks, of pages and of exceptions
//   locks        mutexes taken; not what a sleeper takes back when it wakes
//   contended    of these, the ones that another thread had
//   signals      condition variables notified
//   sleeps       waits for one
//   wakes        calls of an event loop
//   yields       of the rest of a thread's time
//   usages       questions what a thread has used
//   maps         pages taken from the system or given back
//   copied       bytes that memcpy and memmove were called for
// The runtime's own, Node's and V8's are not among them.
//
// And `failAllocation(n)`: allocation n of those that this thread makes from now on fails, once; 0
// lets all succeed. Returns how many were left until the one that was asked for before, or 0.
void DefineCounts(Napi::Env env, Napi::Object exports);

}  // namespace tritonts

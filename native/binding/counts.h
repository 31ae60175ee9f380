// Counts what the engine asks of the system, in builds with TRITONTS_COUNTS: proof that the path of
// a request allocates nothing and takes few locks. Such builds are for measuring only.
#pragma once

#include "setup.h"

namespace tritonts {

// Adds `counts()` to the addon's exports: { allocations, locks, signals, sleeps, wakes } of all
// threads since the process began. The runtime's own are not among them.
void DefineCounts(Napi::Env env, Napi::Object exports);

}  // namespace tritonts

// The few things about threads that differ per system. All apply to the calling thread.
#pragma once

#include <cstdint>

namespace tritonts::platform {

// Shown by debuggers and `top -H`; at most 15 characters.
void NameThread(const char* name);

// Lets timed waits of this thread end on time: Linux rounds them up by 50 µs otherwise.
void WakeOnTime();

// For threads that compute for long: whoever wakes up for a moment, as an event loop does for a
// timer, gets this thread's core at once and not when its slice is over; in return slices are
// longer. The share of the cores stays the same. Threads that this one starts do the same. Linux
// from 6.12 on; without effect elsewhere.
void ComputeForLong();

// How often the system took the core from this thread while it wanted to go on; always 0 where that
// is not told (all but Linux).
uint64_t Interruptions();

}  // namespace tritonts::platform

// The few things about threads that differ per system. All apply to the calling thread.
#pragma once

namespace tritonts::platform {

// Shown by debuggers and `top -H`; at most 15 characters.
void NameThread(const char* name);

// Lets timed waits of this thread end on time: Linux rounds them up by 50 µs otherwise.
void WakeOnTime();

}  // namespace tritonts::platform

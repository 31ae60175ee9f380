// The end of this process. Any thread may call these functions.
#pragma once

namespace tritonts::platform {

// Whether exit handlers may wait for other threads. Windows runs those of a library under the
// loader's lock, after it has ended all other threads.
extern const bool kExitHandlersMayWait;

// Ends the process now, without exit handlers.
[[noreturn]] void LeaveAtOnce(int code);

// Has `handler` called when the process exits, with the code that it exits with. Where the system
// does not tell the code, it is that of `otherwise`. Handlers that were registered later run
// earlier.
void OnProcessExit(void (*handler)(int code), int (*otherwise)());

}  // namespace tritonts::platform

// Shared by the files of the fake CUDA driver.
#pragma once

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace tritonts::fakes {

inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kMostGpus = 16;

// The number in an environment variable.
int Number(const char* variable, int otherwise);
// Ends the process with a message that names the function and the reason.
[[noreturn]] void Abort(const char* function, const char* why);
// Call it at the beginning of each driver function.
void Enter(const char* function, bool first = false);
// The id of a handle; -1: there is no such device.
int IdOf(int handle);
bool Initialized();

}  // namespace tritonts::fakes

// Which system this is, where that changes no more than a value.
#pragma once

// Defines __GLIBC__, where it is glibc.
#include <cstddef>

namespace tritonts::platform {

#if defined(_WIN32)
inline constexpr bool kWindows = true;
#else
inline constexpr bool kWindows = false;
#endif

// How libraries are opened: only glibc's way allows plug-ins of Triton.
#if defined(__GLIBC__)
inline constexpr bool kGlibc = true;
#else
inline constexpr bool kGlibc = false;
#endif

// For messages.
#if defined(_WIN32)
inline constexpr const char* kSystemName = "Windows";
#elif defined(__APPLE__)
inline constexpr const char* kSystemName = "macOS";
#elif defined(__GLIBC__)
inline constexpr const char* kSystemName = "Linux";
#elif defined(__linux__)
inline constexpr const char* kSystemName = "Linux with another C library than glibc";
#else
inline constexpr const char* kSystemName = "another system";
#endif

}  // namespace tritonts::platform

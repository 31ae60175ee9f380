// The engine's clock. It is read once per tick and once per batch, but not once per request.
#pragma once

#include <chrono>
#include <cstdint>

namespace tritonts {

// Nanoseconds of a monotonic clock. Any thread may call it.
inline uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Milliseconds since 1970, for statistics that people read. Any thread may call it.
inline uint64_t WallMs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

// Nanoseconds since 1970. Any thread may call it.
inline uint64_t WallNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace tritonts

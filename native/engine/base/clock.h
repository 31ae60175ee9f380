// The engine's clock. Read per tick and per batch, never per request.
#pragma once

#include <chrono>
#include <cstdint>

namespace tritonts {

// Nanoseconds of a monotonic clock. Any thread.
inline uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Milliseconds since 1970, for statistics that people read. Any thread.
inline uint64_t WallMs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace tritonts

// The time of a version's next wake-up, in the program whose timer has no thread (timer.cc).
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/timer.h"

namespace tritonts::test {

// 0: none. Only one version at a time is played. Thread-safe.
inline std::atomic<uint64_t>& ScheduledAt(TimerClient*) {
  static std::atomic<uint64_t> at_ns{0};
  return at_ns;
}

}  // namespace tritonts::test

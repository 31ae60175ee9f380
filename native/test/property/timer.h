// The time of a version's next wake-up, in the program whose timer has no thread (timer.cc).
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/timer.h"

namespace tritonts::test {

// The version that shares a gate with the played one. Thread-safe.
inline std::atomic<TimerClient*>& OtherClient() {
  static std::atomic<TimerClient*> other{nullptr};
  return other;
}

// 0: none. Only one version at a time is played, beside the other one. Thread-safe.
inline std::atomic<uint64_t>& ScheduledAt(TimerClient* client) {
  static std::atomic<uint64_t> at_ns{0};
  static std::atomic<uint64_t> at_ns_of_other{0};
  return client && client == OtherClient() ? at_ns_of_other : at_ns;
}

}  // namespace tritonts::test

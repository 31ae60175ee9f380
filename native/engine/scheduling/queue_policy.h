// What a configuration says of waiting: priority levels, and for each how many requests may wait
// and for how long. Triton: priority_levels, default_queue_policy, priority_queue_policy.
#pragma once

#include <cstdint>
#include <map>

namespace tritonts {

struct QueuePolicy {
  // Past its deadline a request ends as UNAVAILABLE, or is served after all others of its level
  // that are in time.
  enum class OnTimeout : uint8_t { kReject, kDelay };

  OnTimeout on_timeout = OnTimeout::kReject;
  uint64_t default_timeout_ns = 0;      // from its arrival on; 0: no deadline
  bool allow_timeout_override = false;  // a request may bring a shorter one, or the only one
  uint64_t max_queue_size = 0;          // requests that wait; 0: any number
};

// A constant once a version serves. Any thread.
struct QueuePolicies {
  uint64_t levels = 0;  // 1 is served first; 0: there are no levels
  uint64_t default_level = 0;
  QueuePolicy general;                  // of levels without their own
  std::map<uint64_t, QueuePolicy> own;  // by level

  const QueuePolicy& Of(uint64_t level) const {
    const auto found = own.find(level);
    return found == own.end() ? general : found->second;
  }
  // Where a request of that priority waits: 0, and what is beyond the levels, is the default.
  uint64_t LevelOf(uint64_t priority) const {
    return priority == 0 || priority > levels ? default_level : priority;
  }
  // Until when a request of that level is in time, which brings `timeout_ns` of its own (0: none);
  // 0: for ever. Triton's own batcher overlooks a request's where the default is 0.
  uint64_t DeadlineOf(uint64_t level, uint64_t timeout_ns, uint64_t arrival_ns) const {
    const QueuePolicy& policy = Of(level);
    uint64_t timeout = policy.default_timeout_ns;
    if (policy.allow_timeout_override && timeout_ns > 0 && (timeout == 0 || timeout_ns < timeout)) {
      timeout = timeout_ns;
    }
    if (timeout == 0) return 0;
    return timeout > UINT64_MAX - arrival_ns ? UINT64_MAX : arrival_ns + timeout;
  }
};

}  // namespace tritonts

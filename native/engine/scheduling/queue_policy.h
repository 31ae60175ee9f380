// The queueing part of a configuration: priority levels, and for each the number of requests that
// may wait and for how long. Triton: priority_levels, default_queue_policy, priority_queue_policy.
#pragma once

#include <cstdint>
#include <map>

namespace tritonts {

struct QueuePolicy {
  // After its deadline a request ends with UNAVAILABLE, or is served after all in-time requests of
  // its level.
  enum class OnTimeout : uint8_t { kReject, kDelay };

  OnTimeout on_timeout = OnTimeout::kReject;
  uint64_t default_timeout_ns = 0;  // from the request's arrival; 0: no deadline
  bool allow_timeout_override =
      false;  // a request may set a shorter timeout, or one where the default is 0
  uint64_t max_queue_size = 0;  // maximum waiting requests; 0: no limit
};

// Immutable once the version serves. Thread-safe.
struct QueuePolicies {
  uint64_t levels = 0;  // 1 is served first; 0: there are no levels
  uint64_t default_level = 0;
  QueuePolicy general;                  // for levels without a policy of their own
  std::map<uint64_t, QueuePolicy> own;  // by level

  const QueuePolicy& Of(uint64_t level) const {
    const auto found = own.find(level);
    return found == own.end() ? general : found->second;
  }
  // The level of a request with this priority. 0 and priorities beyond `levels` are the default
  // level.
  uint64_t LevelOf(uint64_t priority) const {
    return priority == 0 || priority > levels ? default_level : priority;
  }
  // The deadline of a request of this level whose own timeout is `timeout_ns` (0: none). 0: no
  // deadline. Triton's batcher ignores a request's timeout if the default is 0; here it counts.
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

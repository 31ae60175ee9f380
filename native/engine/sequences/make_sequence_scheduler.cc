#include "engine/sequences/make_sequence_scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/sequences/direct_scheduler.h"
#include "engine/sequences/oldest_scheduler.h"

namespace tritonts {

std::unique_ptr<Scheduler> MakeSequenceScheduler(SequencePolicy policy, uint32_t instances,
                                                 std::string model, Budget* budget) {
  constexpr uint64_t kMostNs = UINT64_MAX / 4;  // so that a sum of times does not overflow
  policy.max_idle_ns = std::min(policy.max_idle_ns, kMostNs);
  policy.max_queue_delay_ns = std::min(policy.max_queue_delay_ns, kMostNs);
  if (policy.strategy == SequencePolicy::Strategy::kDirect) {
    return std::make_unique<DirectScheduler>(std::move(policy), instances, std::move(model),
                                             budget);
  }
  return std::make_unique<OldestScheduler>(std::move(policy), instances, std::move(model), budget);
}

}  // namespace tritonts

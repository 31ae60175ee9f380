// Makes the sequence batcher of a policy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/request/budget.h"
#include "engine/scheduling/scheduler.h"
#include "engine/scheduling/sequence_policy.h"

namespace tritonts {

// `instances` is how many instances take batches. `budget` is charged with the states of sequences
// and outlives the scheduler; null: they are not counted. Throws std::bad_alloc.
std::unique_ptr<Scheduler> MakeSequenceScheduler(SequencePolicy policy, uint32_t instances,
                                                 std::string model, Budget* budget = nullptr);

}  // namespace tritonts

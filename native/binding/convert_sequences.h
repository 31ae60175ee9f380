// Reads the policy of a sequence batcher from JavaScript. JS thread only.
#pragma once

#include <optional>

#include "engine/scheduling/sequence_policy.h"
#include "setup.h"

namespace tritonts {

// TypeScript has checked the value; absent: the model has no sequences.
std::optional<SequencePolicy> SequencePolicyOf(const Napi::Value& value);

}  // namespace tritonts

// The policy of a sequence batcher (Triton: sequence_batching), as configured and checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/scheduling/batch_rule.h"

namespace tritonts {

// A control tensor: an input that the engine injects into each request of a sequence. Its shape is
// [1], or [1, 1] if the model batches.
struct SequenceControl {
  enum class Kind : uint8_t { kStart, kEnd, kReady, kCorrelationId };
  Kind kind = Kind::kStart;
  uint32_t input = 0;  // its position in the model's inputs; the input is internal
  // INT32, FP32 or BOOL; of kCorrelationId: UINT64, INT64, UINT32, INT32 or BYTES.
  DataType datatype = DataType::kInt32;
  // The bytes of the values for false and true; not used for kCorrelationId. Aligned, because a
  // batch of one request is read in place.
  alignas(8) std::array<std::array<char, 4>, 2> values = {};
};

// A tensor that stays in the engine between the requests of a sequence (Triton: implicit state).
struct SequenceStateSpec {
  uint32_t input = 0;   // its position in the model's inputs; the input is internal
  uint32_t output = 0;  // its position in the model's outputs
  DataType datatype = DataType::kInvalid;
  // The full shape of the first state, with the batch dimension if the model batches.
  std::vector<int64_t> first_shape;
  // The bytes of the first state. BYTES: with length prefixes. Empty: zeros, or empty strings.
  std::vector<char> first_bytes;
  bool same_buffer = false;  // its shape never changes
};

struct SequencePolicy {
  enum class Strategy : uint8_t { kDirect, kOldest };
  Strategy strategy = Strategy::kDirect;
  // How many sequences an instance has at a time: direct: max(1, max_batch_size); oldest:
  // max_candidate_sequences. It may be any number, so memory must not be allocated for each slot.
  uint32_t slots = 1;
  uint32_t max_batch_size = 0;
  uint64_t max_idle_ns = 1'000'000'000;
  // Direct. The share of slots with a request that starts a batch; 0: any share does. While fewer
  // have one, the batch waits for max_queue_delay_ns.
  float minimum_slot_utilization = 0;
  uint64_t max_queue_delay_ns = 0;
  // Oldest. `preserve_ordering`: responses of an instance leave in the order of their requests.
  DynamicPolicy dynamic;
  bool preserve_ordering = false;
  // A request without an id is a sequence of its own, which ends when it is not rescheduled.
  bool iterative = false;
  // The version replaces another one, so a sequence may have begun there.
  bool reloaded = false;
  std::vector<SequenceControl> controls;
  std::vector<SequenceStateSpec> states;
};

}  // namespace tritonts

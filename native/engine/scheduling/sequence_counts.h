// How many sequences a version has, for its reports. A value type.
#pragma once

#include <cstdint>

namespace tritonts {

// How many sequences a scheduler has, and what became of them since it was made.
struct SequenceCounts {
  uint64_t slots = 0;    // 0: the model has no sequences
  uint64_t live = 0;     // sequences with a slot
  uint64_t idle = 0;     // of these, those without a request
  uint64_t backlog = 0;  // sequences that wait for a slot
  uint64_t begun = 0;
  uint64_t idled = 0;        // ended, because no request came for too long
  uint64_t expired = 0;      // ended in the backlog by a time-out
  uint64_t cancelled = 0;    // ended by a cancellation
  uint64_t broken = 0;       // ended, because their state could not be kept
  uint64_t state_bytes = 0;  // memory of their states
};

// What a scheduler knows of the last sequence of a correlation id. Its numbers are also in
// src/addon/sequence-fates.ts.
enum class SequenceFate : uint8_t {
  kUnknown,  // nothing, or it ended long ago
  kLive,
  kIdled,  // it ended, because no request came for too long
  kEnded,  // it ended in another way
};

}  // namespace tritonts

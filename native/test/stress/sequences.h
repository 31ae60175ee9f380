// The part of the stress program that has many sequences.
#pragma once

#include <cstdint>

namespace tritonts::test {

// Runs so many sequences of 1 to 20 requests through 8 slots, and those of an instance that comes
// and goes. The engine keeps a state for each. A quarter of them get no last request, and some wait
// for a slot with a time-out. Afterwards nothing of them may be left, and
// the memory in use may not have grown. Both strategies.
void StressSequences(uint64_t count, uint64_t seed);

}  // namespace tritonts::test

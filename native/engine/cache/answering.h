// What the layers of response caches share when they answer requests and store answers. Any thread
// may call the functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/memory/memory_copier.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// Responses that are delivered together.
constexpr size_t kAnsweredTogether = 64;
// A port takes outputs from this size on as they are, instead of copying them to a page.
constexpr size_t kLargeOutput = size_t{64} << 10;

// The time between, or 0 if the clock of another thread was ahead.
inline uint64_t TimeBetween(uint64_t from_ns, uint64_t to_ns) {
  return to_ns > from_ns ? to_ns - from_ns : 0;
}

// Whether an answer can be stored: it is the only one, no error, and in memory of the host.
inline bool CanBeStored(const Response& response) {
  if (!response.status.ok() || !response.final || response.empty) return false;
  return std::all_of(response.outputs.begin(), response.outputs.end(),
                     [](const OutputTensor& output) { return IsHostMemory(output.kind); });
}

}  // namespace tritonts

// The parts of a request's time, as Triton names them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts {

enum class LatencyPhase : uint8_t {
  kRequest,
  kQueue,
  kComputeInput,
  kComputeInfer,
  kComputeOutput
};
inline constexpr size_t kLatencyPhases = 5;

}  // namespace tritonts

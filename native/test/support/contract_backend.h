// A backend that uses everything that the contract allows. It responds late, several times and from
// other threads, frees its instance early, has several runs under way, reschedules requests,
// releases inputs early, and writes outputs to device memory (fake_device.h).
//
// Output 0 is input 0. A request's INT32 input 1 ([rows, 1]) selects a Way; for kGoesRound plus 16
// for each round. Settings: `asynchronous`, "1" or "0".
#pragma once

#include "engine/backend.h"

namespace tritonts::test {

enum class Way : int32_t {
  kPlain,
  kStreams,          // two responses before the final one
  kStreamsAndFails,  // one response, and a final error
  kGoesRound,        // rescheduled as often as the input says
  kOtherThread,      // two responses, each from another thread
  kDevice,           // the output is written to the device
  kReleases,         // the inputs are released before the response
  kLate,             // responses that come after the request is done
  kCount,
};

class ContractBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

// The number of responses that a request gets before its final one.
constexpr uint32_t ResponsesBefore(Way way) {
  if (way == Way::kStreams) return 2;
  return way == Way::kStreamsAndFails || way == Way::kOtherThread ? 1 : 0;
}

}  // namespace tritonts::test

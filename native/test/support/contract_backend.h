// A backend that uses everything that the contract allows. It responds late, several times and from
// other threads, frees its instance early, has several runs under way, reschedules requests,
// releases inputs early, and writes outputs to device memory (fake_device.h). It gathers the inputs
// of each batch, ragged or not, and declares an output of strings for the whole batch.
//
// Output 0 is input 0. An output of strings has TextOfRow(row) in each row. An output that the
// engine keeps is 1 in each row. A request's INT32 input "way" ([rows, 1]) selects a Way; for
// kGoesRound plus 16 for each round. Settings: `asynchronous`, "1" or "0".
#pragma once

#include <string>

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
  kGathers,          // the output is a part of the gathered input
  kCount,
};

class ContractBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

// The bytes of a string, which depends on the row's position in its batch.
inline std::string TextOfRow(size_t row) {
  const auto length = static_cast<char>(row % 3);
  return std::string{length, 0, 0, 0} + std::string(row % 3, 'a');
}

// The number of responses that a request gets before its final one.
constexpr uint32_t ResponsesBefore(Way way) {
  if (way == Way::kStreams) return 2;
  return way == Way::kStreamsAndFails || way == Way::kOtherThread ? 1 : 0;
}

}  // namespace tritonts::test

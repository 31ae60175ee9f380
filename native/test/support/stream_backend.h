// A backend whose requests get any number of responses, for tests. Only tritonts_faults.node has
// it.
//
// Inputs by name, each one INT32 for a row; all but `count` may be absent:
//   count   how many responses the request gets
//   how     how it ends: StreamEnd
//   size    values in each response (1)
// Output 0, INT32, has in each response `size` values, all of which are the response's number, from
// 0.
//
// Execute hands the requests to a thread of the instance, and returns at once. That thread sends up
// to `ahead` responses (a setting; 16) that the caller has not read, and goes on when half of them
// were. If a request was cancelled, it makes the file that the setting `cancel_file` names.
#pragma once

#include "engine/backend.h"

namespace tritonts {

// The numbers that requests name. test/streams/harness.ts lists the same names in this order.
enum class StreamEnd : int32_t {
  kLast,    // the last response is the final one
  kApart,   // the end comes without a response
  kFails,   // INTERNAL after the responses
  kGreedy,  // as kApart, but it does not wait for the caller
  kMidst,   // as kApart, but an error that is not final comes before the responses
  kOpen,    // it goes on without responses until it is cancelled
  kCount,
};

class StreamBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace tritonts

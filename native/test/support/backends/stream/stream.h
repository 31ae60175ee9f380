// A backend whose requests get any number of responses. Only tritonts_faults.node contains it.
//
// Inputs by name, each one INT32 per row; all but `count` are optional:
//   count   number of responses that the request gets
//   how     how it ends: StreamEnd
//   size    values in each response (1)
// Each response has an INT32 output 0 with `size` values, all equal to the response's number, from
// 0.
//
// Execute passes the requests to a thread of the instance, and returns at once. That thread sends
// up to `ahead` responses (a setting; 16) beyond those that the caller has read, and continues when
// half of them were read. If a request was cancelled, it creates the file named by the setting
// `cancel_file`.
#pragma once

#include "engine/backend.h"

namespace tritonts {

// The numbers that requests use. test/streams/harness.ts lists the same names in this order.
enum class StreamEnd : int32_t {
  kLast,    // the last response is the final one
  kApart,   // the end comes without a response
  kFails,   // INTERNAL after the responses
  kGreedy,  // like kApart, but it does not wait for the caller
  kMidst,   // like kApart, but an error that is not final comes before the responses
  kOpen,    // it continues without responses until it is cancelled
  kCount,
};

class StreamBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  bool may_run_on_js_thread() const override { return true; }
};

namespace stream {
// As in backends/find_backend.h.
Backend* MakeBackend();
}  // namespace stream

}  // namespace tritonts

// A backend that misbehaves on demand, for tests. Only tritonts_faults.node and test programs have
// it.
//
// Output 0 is input 0, as in the identity backend, unless a fault is asked for. A request asks with
// the number in its INT32 input named "fault" (absent or 0: none). A model's settings ask for all
// of its requests. Each request of a batch has its own fault. A fault that concerns the whole run
// (it throws, hangs or is slow) happens after the other requests got their responses.
//
// An INT32 output named "ran" of dims [3] has in each row the number of the run (from 1), the
// request's position in its batch, and the row's position.
//
// Settings:
//   fault        name of the fault of requests that name none
//   load_fault   "fails", "throws", "lacks_memory" or "hangs"
//   at           where load_fault is: "load" (default), "configure" or "instance"
//   delay_ms     how long "slow" takes (100)
//   destroy_ms   how long the model's destructor takes (0)
//   release_file "held" goes on when this file is there
//   hang_file    a file that is made when something begins to hang
#pragma once

#include "engine/backend.h"

namespace tritonts {

// The numbers that requests name. test/faults/harness.ts lists the same names in this order.
enum class Fault : int32_t {
  kNone,
  kFails,                 // INTERNAL
  kUnavailable,           // UNAVAILABLE
  kThrows,                // std::runtime_error out of Execute
  kThrowsOther,           // a number out of Execute
  kLacksMemory,           // std::bad_alloc out of Execute
  kHangs,                 // never returns
  kHangsUntilTerminated,  // responds with CANCELLED then
  kAnswersTwice,          // a good response, then errors
  kAnswersLate,           // an error, while the next run is under way
  kNeverAnswers,          // returns without a response
  kWrongRows,             // one row more than the request has
  kNegativeDim,           // -1 in the shape
  kHugeShape,             // more elements than memory can hold
  kUnknownOutput,         // an output that the model does not have
  kWrongDatatype,         // INT8 instead of the model's datatype
  kTooFewBytes,           // 4 less than the shape says
  kTooManyBytes,          // 4 more than the shape says
  kOtherThread,           // a thread responds while Execute waits
  kAllocatesTooMuch,      // asks the pool for 2^45 bytes
  kSlow,                  // takes delay_ms, or less when asked to end
  kWrongRequest,          // responds to requests that the batch does not have
  kHeld,                  // waits until release_file exists, or it is asked to end
  kTells,                 // INTERNAL, with what the request says besides its inputs
  kCount,
};

class FaultBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  // Models whose faults block a thread set `inline` to "off".
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace tritonts

// A backend that misbehaves as it is told, for tests; only tritonts_faults.node has it.
//
// Output 0 is input 0, as the identity backend does it, unless a fault is asked for: by a request,
// as the number in its INT32 input named "fault" (absent or 0: none), or for all requests of a
// model by its settings. Requests of one batch each have their own fault; one that concerns the
// whole run (it throws, hangs or takes its time) comes after the others have their answers.
//
// An INT32 output named "ran" of dims [3] tells, in each row, which run of the model it was (from
// 1), the request's position in its batch, and the row's position.
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

// By the number that a request names; test/faults/harness.ts lists the same names in this order.
enum class Fault : int32_t {
  kNone,
  kFails,                 // INTERNAL
  kUnavailable,           // UNAVAILABLE
  kThrows,                // std::runtime_error out of Execute
  kThrowsOther,           // a number out of Execute
  kLacksMemory,           // std::bad_alloc out of Execute
  kHangs,                 // never returns
  kHangsUntilTerminated,  // answers CANCELLED then
  kAnswersTwice,          // first well, then with errors
  kAnswersLate,           // with an error, while the run after this one is under way
  kNeverAnswers,          // returns without
  kWrongRows,             // one row more than the request has
  kNegativeDim,           // -1 in the shape
  kHugeShape,             // more elements than memory can hold
  kUnknownOutput,         // an output the model does not have
  kWrongDatatype,         // INT8 in place of what the model has
  kTooFewBytes,           // 4 less than the shape says
  kTooManyBytes,          // 4 more than the shape says
  kOtherThread,           // a thread answers while Execute waits
  kAllocatesTooMuch,      // asks the pool for 2^45 bytes
  kSlow,                  // takes delay_ms, less when asked to end
  kWrongRequest,          // answers requests that the batch does not have
  kHeld,                  // waits until release_file is there, less when asked to end
  kCount,
};

class FaultBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  // For models whose faults do not hold a thread; the others say `inline` "off".
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace tritonts

// A backend that misbehaves on demand, for tests. Only tritonts_faults.node and test programs
// contain it.
//
// Output 0 is input 0, as in the identity backend, unless a fault is requested. So is each output
// that the engine keeps (TensorSpec::internal). A request selects a
// fault by its number in the INT32 input "fault" (absent or 0: none). A model's settings select a
// fault for all its requests. Each request of a batch has its own fault. A fault of the whole run
// (it throws, hangs or is slow) happens after the other requests got their responses. A null row
// has the fault of requests that select none.
//
// An INT32 output "ran" of dims [3] contains, in each row, the run's number (from 1), the request's
// position in its batch, and the row's position.
//
// Settings:
//   fault        name of the fault of requests that select none
//   load_fault   "fails", "throws", "lacks_memory" or "hangs"
//   at           step of load_fault: "load" (default), "configure" or "instance"
//   delay_ms     duration of "slow" (100)
//   destroy_ms   duration of the model's destructor (0)
//   release_file "held" continues when this file exists
//   hang_file    a file that is created when a hang begins
#pragma once

#include "engine/backend.h"

namespace tritonts {

// The numbers that requests use. test/faults/harness.ts lists the same names in this order.
enum class Fault : int32_t {
  kNone,
  kFails,                 // INTERNAL
  kUnavailable,           // UNAVAILABLE
  kThrows,                // std::runtime_error from Execute
  kThrowsOther,           // throws a number from Execute
  kLacksMemory,           // std::bad_alloc from Execute
  kHangs,                 // never returns
  kHangsUntilTerminated,  // responds with CANCELLED after Terminate
  kAnswersTwice,          // a good response, then errors
  kAnswersLate,           // an error, while the next run is under way
  kNeverAnswers,          // returns without a response
  kWrongRows,             // one row more than the request has
  kNegativeDim,           // -1 in the shape
  kHugeShape,             // more elements than memory can hold
  kUnknownOutput,         // an output that does not exist
  kWrongDatatype,         // INT8 instead of the model's datatype
  kTooFewBytes,           // 4 less than the shape says
  kTooManyBytes,          // 4 more than the shape says
  kOtherThread,           // a thread responds while Execute waits
  kAllocatesTooMuch,      // asks the pool for 2^45 bytes
  kSlow,                  // takes delay_ms, or less if it is terminated
  kWrongRequest,          // responds to requests that are not in the batch
  kHeld,                  // waits until release_file exists or it is terminated
  kTells,                 // INTERNAL, with a text of the request's parameters and attributes
  // Of batches with slots.
  kKeepsNothing,       // no kept output
  kKeptTooFewBytes,    // a kept output has 4 bytes less than the shape says
  kKeptWrongDatatype,  // a kept output is INT8
  kAnswersNullRows,    // null rows get a good response with outputs, then errors
  kThrowsAtNullRow,    // answers the requests before the first null row, then throws
  kWrongRaggedRows,    // output 0 of the whole batch, whose first row lacks a byte
  kCount,
};

class FaultBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  // Models whose faults block a thread set `inline` to "off".
  bool may_run_on_js_thread() const override { return true; }
};

namespace fault {
// As in backends/find_backend.h.
Backend* MakeBackend();
}  // namespace fault

}  // namespace tritonts

// Traces of requests: what happens to one is told to the functions of its maker.
//
//   TraceNew --> InferAsync ------ activities ------ TraceEnd: the release function --> TraceDelete
//            \--> TraceDelete
//
// The time stamps are those of the engine's clock (engine/base/clock.h), as Triton's are of a
// monotonic clock. Those between REQUEST_START and REQUEST_END are told with the first response of
// a request that a batch ran. The steps of an ensemble have no traces of their own.
//
// Ownership: the caller's until TRITONSERVER_ServerInferAsync, which takes it in any case, and
// again from the release function on. Threads: of those who own it. The functions are called on the
// thread on which the request ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "c_api/request.h"
#include "include/tritonts.h"
#include "plugins/abi/types.h"

struct TRITONSERVER_InferenceTrace {
  uint32_t level = 0;
  uint64_t id = 0;
  uint64_t parent_id = 0;  // 0: none
  TRITONSERVER_InferenceTraceActivityFn_t activity = nullptr;
  TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity = nullptr;
  TRITONSERVER_InferenceTraceReleaseFn_t release = nullptr;
  void* user = nullptr;
  std::string model;
  int64_t version = -1;
  std::string request_id;
  std::string context;
};

namespace tritonts::plugins {

// Tells of one activity, if the level asks for time stamps. Null is ignored, as in the others.
void TraceReport(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                 uint64_t now_ns) noexcept;
// The inputs of a request that is about to be submitted, if the level asks for tensors.
// Throws std::bad_alloc.
void TraceInputs(TRITONSERVER_InferenceTrace* trace, const c_api::ApiRequest& request);
// When the batch of a response ran. False: it is of no batch.
bool TraceTimings(TRITONSERVER_InferenceTrace* trace, const tritonts_response& response) noexcept;
// An output of a response, if the level asks for tensors.
void TraceOutput(TRITONSERVER_InferenceTrace* trace, const tritonts_output& output) noexcept;
// The request has ended. The trace is its maker's again.
void TraceEnd(TRITONSERVER_InferenceTrace* trace, uint64_t now_ns) noexcept;

}  // namespace tritonts::plugins

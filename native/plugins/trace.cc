#include "plugins/trace.h"

#include "c_api/response.h"
#include "engine/base/clock.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// Levels are flags. The two oldest ones mean time stamps.
constexpr uint32_t kTimes = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS | TRITONSERVER_TRACE_LEVEL_MIN |
                            TRITONSERVER_TRACE_LEVEL_MAX;
constexpr uint32_t kKnown = kTimes | TRITONSERVER_TRACE_LEVEL_TENSORS;

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Status Make(TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level,
            uint64_t parent_id, TRITONSERVER_InferenceTraceActivityFn_t activity,
            TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity,
            TRITONSERVER_InferenceTraceReleaseFn_t release, void* user) {
  const auto flags = static_cast<uint32_t>(level);
  if ((flags & ~kKnown) != 0) {
    return Status::InvalidArg("unknown level of a trace: " + std::to_string(flags));
  }
  if (!activity || !release) {
    return Status::InvalidArg(
        "a trace needs a function that is told of activities and one that takes it back");
  }
  if ((flags & TRITONSERVER_TRACE_LEVEL_TENSORS) != 0 && !tensor_activity) {
    return Status::InvalidArg(
        "a trace of tensors needs a function that is told of them: call "
        "TRITONSERVER_InferenceTraceTensorNew");
  }
  auto* const made = new TRITONSERVER_InferenceTrace();
  made->level = flags;
  made->id = NextId();
  made->parent_id = parent_id;
  made->activity = activity;
  made->tensor_activity = tensor_activity;
  made->release = release;
  made->user = user;
  *trace = made;
  return Status::Ok();
}

void ReportTensor(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                  const char* name, DataType datatype, const void* base, size_t size,
                  const int64_t* dims, size_t rank) noexcept {
  // The numbers of datatypes are Triton's.
  trace->tensor_activity(trace, activity, name, static_cast<TRITONSERVER_DataType>(datatype), base,
                         size, dims, rank, TRITONSERVER_MEMORY_CPU, 0, trace->user);
}

bool TellsTensors(const TRITONSERVER_InferenceTrace* trace) {
  return trace && (trace->level & TRITONSERVER_TRACE_LEVEL_TENSORS) != 0;
}

}  // namespace

void TraceReport(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                 uint64_t now_ns) noexcept {
  if (trace && (trace->level & kTimes) != 0) {
    trace->activity(trace, activity, now_ns, trace->user);
  }
}

void TraceInputs(TRITONSERVER_InferenceTrace* trace, const c_api::ApiRequest& request) {
  if (!TellsTensors(trace)) return;
  for (const c_api::ApiRequest::Input& input : request.given_inputs()) {
    std::string whole;
    const void* base = input.parts.empty() ? nullptr : input.parts[0].data;
    if (input.parts.size() > 1) {
      whole.reserve(input.bytes);
      for (const auto& part : input.parts) {
        whole.append(static_cast<const char*>(part.data), part.size);
      }
      base = whole.data();
    }
    ReportTensor(trace, TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT, input.name.c_str(), input.datatype,
                 base, input.bytes, input.dims.data(), input.dims.size());
  }
}

bool TraceTimings(TRITONSERVER_InferenceTrace* trace, const tritonts_response& response) noexcept {
  const tritonts_timings& timings = response.timings;
  if (timings.batch_size == 0) return false;
  uint64_t at = response.arrival_ns;
  TraceReport(trace, TRITONSERVER_TRACE_QUEUE_START, at);
  TraceReport(trace, TRITONSERVER_TRACE_COMPUTE_START, at += timings.queue_ns);
  TraceReport(trace, TRITONSERVER_TRACE_COMPUTE_INPUT_END, at += timings.compute_input_ns);
  TraceReport(trace, TRITONSERVER_TRACE_COMPUTE_OUTPUT_START, at += timings.compute_infer_ns);
  TraceReport(trace, TRITONSERVER_TRACE_COMPUTE_END, at += timings.compute_output_ns);
  return true;
}

void TraceOutput(TRITONSERVER_InferenceTrace* trace, const tritonts_output& output) noexcept {
  if (!TellsTensors(trace)) return;
  ReportTensor(trace, TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT, output.name,
               static_cast<DataType>(output.datatype), output.data, output.bytes, output.dims,
               output.rank);
}

void TraceEnd(TRITONSERVER_InferenceTrace* trace, uint64_t now_ns) noexcept {
  if (!trace) return;
  TraceReport(trace, TRITONSERVER_TRACE_REQUEST_END, now_ns);
  trace->release(trace, trace->user);
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp) noexcept {
  return Guard(
      [&] { return Make(trace, level, parent_id, activity_fn, nullptr, release_fn, trace_userp); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceTensorNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn,
    TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp) noexcept {
  return Guard([&] {
    return Make(trace, level, parent_id, activity_fn, tensor_activity_fn, release_fn, trace_userp);
  });
}

// The name of the activity has no place in what the function is told. So it is only checked.
TRITONSERVER_Error* TRITONSERVER_InferenceTraceReportActivity(TRITONSERVER_InferenceTrace* trace,
                                                              uint64_t timestamp,
                                                              const char* activity_name) noexcept {
  return Guard([&]() -> Status {
    if (!activity_name) return Status::InvalidArg("an activity of a trace needs a name");
    TraceReport(trace, TRITONSERVER_TRACE_CUSTOM_ACTIVITY, timestamp);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceDelete(TRITONSERVER_InferenceTrace* trace) noexcept {
  delete trace;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceId(TRITONSERVER_InferenceTrace* trace,
                                                  uint64_t* id) noexcept {
  *id = trace->id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceParentId(TRITONSERVER_InferenceTrace* trace,
                                                        uint64_t* parent_id) noexcept {
  *parent_id = trace->parent_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelName(TRITONSERVER_InferenceTrace* trace,
                                                         const char** model_name) noexcept {
  *model_name = trace->model.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelVersion(TRITONSERVER_InferenceTrace* trace,
                                                            int64_t* model_version) noexcept {
  *model_version = trace->version;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceRequestId(TRITONSERVER_InferenceTrace* trace,
                                                         const char** request_id) noexcept {
  *request_id = trace->request_id.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSpawnChildTrace(
    TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTrace** child_trace) noexcept {
  return Guard([&]() -> Status {
    if (!trace) return Status::InvalidArg("a trace without a parent is made with TraceNew");
    auto* const child = new TRITONSERVER_InferenceTrace(*trace);
    child->id = NextId();
    child->parent_id = trace->id;
    *child_trace = child;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSetContext(TRITONSERVER_InferenceTrace* trace,
                                                          const char* trace_context) noexcept {
  return Guard([&] {
    trace->context = trace_context ? trace_context : "";
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceContext(TRITONSERVER_InferenceTrace* trace,
                                                       const char** trace_context) noexcept {
  *trace_context = trace->context.c_str();
  return nullptr;
}

}  // namespace tritonts::plugins

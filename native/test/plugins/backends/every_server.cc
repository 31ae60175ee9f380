// What a server is asked, and values that belong to nobody.
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>

#include "every.h"

namespace tritonts::plugin::every {

namespace {

// What the callbacks of one request got. Its owner waits.
struct Waiter {
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  TRITONSERVER_InferenceResponse* response = nullptr;
  bool final = false;
  bool released = false;
  // The calls of the allocator.
  int started = 0;
  int allocated = 0;
  int described = 0;
  int asked = 0;
  int freed = 0;
};

Error Allocate(TRITONSERVER_ResponseAllocator*, const char* name, size_t size,
               TRITONSERVER_MemoryType, int64_t, void* user, void** buffer, void** buffer_user,
               TRITONSERVER_MemoryType* kind, int64_t* device) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  SAME(std::string(name), "y");
  waiter->allocated++;
  *buffer = size > 0 ? std::malloc(size) : nullptr;
  *buffer_user = waiter;
  *kind = TRITONSERVER_MEMORY_CPU;
  *device = 0;
  return nullptr;
}

Error Free(TRITONSERVER_ResponseAllocator*, void* buffer, void* buffer_user, size_t,
           TRITONSERVER_MemoryType, int64_t) {
  auto* const waiter = static_cast<Waiter*>(buffer_user);
  std::lock_guard lock(waiter->mutex);
  waiter->freed++;
  std::free(buffer);
  return nullptr;
}

Error Begin(TRITONSERVER_ResponseAllocator*, void* user) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  waiter->started++;
  return nullptr;
}

Error Describe(TRITONSERVER_ResponseAllocator*, const char*,
               TRITONSERVER_BufferAttributes* attributes, void* user, void*) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  waiter->described++;
  return TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_CPU);
}

Error Query(TRITONSERVER_ResponseAllocator*, void* user, const char*, size_t*,
            TRITONSERVER_MemoryType* kind, int64_t* device) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  waiter->asked++;
  *kind = TRITONSERVER_MEMORY_CPU;
  *device = 0;
  return nullptr;
}

void OnResponse(TRITONSERVER_InferenceResponse* response, uint32_t flags, void* user) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  if (response) waiter->response = response;
  if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) waiter->final = true;
  waiter->changed.notify_all();
}

void OnRelease(TRITONSERVER_InferenceRequest*, uint32_t, void* user) {
  auto* const waiter = static_cast<Waiter*>(user);
  std::lock_guard lock(waiter->mutex);
  waiter->released = true;
  waiter->changed.notify_all();
}

void OnActivity(TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity, uint64_t,
                void*) {}

void OnTraceRelease(TRITONSERVER_InferenceTrace* trace, void*) {
  GOOD(TRITONSERVER_InferenceTraceDelete, trace);
}

// A message of the server as text, or "" after a fault.
std::string Taken(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  size_t size = 0;
  if (!GOOD(TRITONSERVER_MessageSerializeToJson, message, &base, &size)) return "";
  const std::string text(base, size);
  if (!Json::Parse(text).ok()) Fault("a message of the server is not JSON: " + text);
  GOOD(TRITONSERVER_MessageDelete, message);
  return text;
}

void SetAll(TRITONSERVER_InferenceRequest* request) {
  GOOD(TRITONSERVER_InferenceRequestSetId, request, "asked");
  const char* text = nullptr;
  GOOD(TRITONSERVER_InferenceRequestId, request, &text);
  SAME(std::string(text), "asked");
  uint32_t flags = 9;
  GOOD(TRITONSERVER_InferenceRequestSetFlags, request, 0);
  GOOD(TRITONSERVER_InferenceRequestFlags, request, &flags);
  SAME(flags, 0u);
  uint64_t number = 9;
  GOOD(TRITONSERVER_InferenceRequestSetCorrelationIdString, request, "name");
  GOOD(TRITONSERVER_InferenceRequestCorrelationIdString, request, &text);
  SAME(std::string(text), "name");
  GOOD(TRITONSERVER_InferenceRequestSetCorrelationId, request, 0);
  GOOD(TRITONSERVER_InferenceRequestCorrelationId, request, &number);
  SAME(number, 0u);
  uint32_t priority = 9;
  GOOD(TRITONSERVER_InferenceRequestSetPriority, request, 0);
  GOOD(TRITONSERVER_InferenceRequestPriority, request, &priority);
  SAME(priority, 0u);
  GOOD(TRITONSERVER_InferenceRequestSetPriorityUInt64, request, 0);
  GOOD(TRITONSERVER_InferenceRequestPriorityUInt64, request, &number);
  GOOD(TRITONSERVER_InferenceRequestSetTimeoutMicroseconds, request, 60'000'000);
  GOOD(TRITONSERVER_InferenceRequestTimeoutMicroseconds, request, &number);
  SAME(number, 60'000'000u);
  GOOD(TRITONSERVER_InferenceRequestSetStringParameter, request, "text", "value");
  GOOD(TRITONSERVER_InferenceRequestSetIntParameter, request, "int", 4);
  GOOD(TRITONSERVER_InferenceRequestSetBoolParameter, request, "bool", true);
  GOOD(TRITONSERVER_InferenceRequestSetDoubleParameter, request, "double", 1.5);
}

// The input, in two pieces, after some changes of mind.
void SetInputs(TRITONSERVER_InferenceRequest* request, const float* values) {
  const int64_t shape[] = {1, 2};
  GOOD(TRITONSERVER_InferenceRequestAddRawInput, request, "x");
  GOOD(TRITONSERVER_InferenceRequestRemoveInput, request, "x");
  GOOD(TRITONSERVER_InferenceRequestAddInput, request, "x", TRITONSERVER_TYPE_FP32, shape, 2);
  GOOD(TRITONSERVER_InferenceRequestRemoveAllInputs, request);
  GOOD(TRITONSERVER_InferenceRequestAddInput, request, "x", TRITONSERVER_TYPE_FP32, shape, 2);
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  GOOD(TRITONSERVER_BufferAttributesNew, &attributes);
  GOOD(TRITONSERVER_BufferAttributesSetMemoryType, attributes, TRITONSERVER_MEMORY_CPU);
  GOOD(TRITONSERVER_BufferAttributesSetByteSize, attributes, sizeof(float));
  GOOD(TRITONSERVER_BufferAttributesSetCudaIpcHandle, attributes, nullptr);
  GOOD(TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes, request, "x", values,
       attributes);
  GOOD(TRITONSERVER_BufferAttributesDelete, attributes);
  // All instances read the same bytes here.
  BAD(UNSUPPORTED, TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy, request, "x", values,
      sizeof(float), TRITONSERVER_MEMORY_CPU, 0, "cpu");
  GOOD(TRITONSERVER_InferenceRequestRemoveAllInputData, request, "x");
  GOOD(TRITONSERVER_InferenceRequestAppendInputData, request, "x", values, sizeof(float),
       TRITONSERVER_MEMORY_CPU, 0);
  GOOD(TRITONSERVER_InferenceRequestAppendInputData, request, "x", values + 1, sizeof(float),
       TRITONSERVER_MEMORY_CPU, 0);
  GOOD(TRITONSERVER_InferenceRequestAddRequestedOutput, request, "y");
  GOOD(TRITONSERVER_InferenceRequestRemoveRequestedOutput, request, "y");
  GOOD(TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs, request);
  GOOD(TRITONSERVER_InferenceRequestAddRequestedOutput, request, "y");
}

void ReadResponse(TRITONSERVER_InferenceResponse* response, const char* model) {
  if (!GOOD(TRITONSERVER_InferenceResponseError, response)) return;
  const char* name = nullptr;
  int64_t version = 0;
  GOOD(TRITONSERVER_InferenceResponseModel, response, &name, &version);
  SAME(std::string(name), model);
  SAME(version, 1);
  const char* id = nullptr;
  GOOD(TRITONSERVER_InferenceResponseId, response, &id);
  SAME(std::string(id), "asked");
  uint32_t count = 9;
  GOOD(TRITONSERVER_InferenceResponseParameterCount, response, &count);
  TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_INT;
  const void* value = nullptr;
  BAD(INVALID_ARG, TRITONSERVER_InferenceResponseParameter, response, count, &name, &type, &value);
  GOOD(TRITONSERVER_InferenceResponseOutputCount, response, &count);
  SAME(count, 1u);
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint64_t rank = 0;
  const void* base = nullptr;
  size_t size = 0;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_GPU;
  int64_t device = 0;
  void* user = nullptr;
  if (GOOD(TRITONSERVER_InferenceResponseOutput, response, 0, &name, &datatype, &shape, &rank,
           &base, &size, &kind, &device, &user)) {
    SAME(std::string(name), "y");
    SAME(size, 2 * sizeof(float));
    Fact("asked.y", std::to_string(static_cast<const float*>(base)[0]) + " " +
                        std::to_string(static_cast<const float*>(base)[1]));
  }
  const char* label = nullptr;
  GOOD(TRITONSERVER_InferenceResponseOutputClassificationLabel, response, 0, 0, &label);
  SAME(label, nullptr);
}

// A trace of the plug-in's own, for the request. It goes with the request.
TRITONSERVER_InferenceTrace* NewTrace() {
  TRITONSERVER_InferenceTrace* trace = nullptr;
  if (!GOOD(TRITONSERVER_InferenceTraceNew, &trace, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0,
            OnActivity, OnTraceRelease, nullptr)) {
    return nullptr;
  }
  Trace(trace);
  GOOD(TRITONSERVER_InferenceTraceSetContext, trace, "{\"a\":1}");
  const char* context = nullptr;
  GOOD(TRITONSERVER_InferenceTraceContext, trace, &context);
  SAME(std::string(context), "{\"a\":1}");
  TRITONSERVER_InferenceTrace* other = nullptr;
  if (GOOD(TRITONSERVER_InferenceTraceTensorNew, &other, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0,
           OnActivity, nullptr, OnTraceRelease, nullptr)) {
    GOOD(TRITONSERVER_InferenceTraceDelete, other);
  }
  return trace;
}

}  // namespace

void Values() {
  for (int i = TRITONSERVER_TYPE_BOOL; i <= TRITONSERVER_TYPE_BF16; i++) {
    const auto type = static_cast<TRITONSERVER_DataType>(i);
    SAME(CALL(TRITONSERVER_StringToDataType, CALL(TRITONSERVER_DataTypeString, type)), type);
    SAME(CALL(TRITONSERVER_DataTypeByteSize, type) > 0, type != TRITONSERVER_TYPE_BYTES);
  }
  SAME(std::string(CALL(TRITONSERVER_MemoryTypeString, TRITONSERVER_MEMORY_CPU)), "CPU");
  SAME(std::string(
           CALL(TRITONSERVER_InferenceTraceLevelString, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS)),
       "TIMESTAMPS");
  SAME(std::string(
           CALL(TRITONSERVER_InferenceTraceActivityString, TRITONSERVER_TRACE_REQUEST_START)),
       "REQUEST_START");
  Error error = CALL(TRITONSERVER_ErrorNew, TRITONSERVER_ERROR_NOT_FOUND, "gone");
  SAME(CALL(TRITONSERVER_ErrorCode, error), TRITONSERVER_ERROR_NOT_FOUND);
  SAME(std::string(CALL(TRITONSERVER_ErrorCodeString, error)), "Not found");
  SAME(std::string(CALL(TRITONSERVER_ErrorMessage, error)), "gone");
  CALL(TRITONSERVER_ErrorDelete, error);
  Fact("log.verbose", CALL(TRITONSERVER_LogIsEnabled, TRITONSERVER_LOG_VERBOSE) ? "yes" : "no");
  GOOD(TRITONSERVER_LogMessage, TRITONSERVER_LOG_INFO, "every.cc", 7, "every says something");
}

void Numbers(const char* model) {
  TRITONSERVER_MetricFamily* family = nullptr;
  if (!GOOD(TRITONSERVER_MetricFamilyNew, &family, TRITONSERVER_METRIC_KIND_GAUGE, "every_gauge",
            "A gauge of the plug-in")) {
    return;
  }
  TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
  GOOD(TRITONSERVER_GetMetricFamilyKind, family, &kind);
  SAME(kind, TRITONSERVER_METRIC_KIND_GAUGE);
  TRITONSERVER_Parameter* const label =
      CALL(TRITONSERVER_ParameterNew, "model", TRITONSERVER_PARAMETER_STRING, model);
  const TRITONSERVER_Parameter* const labels[] = {label};
  TRITONSERVER_Metric* metric = nullptr;
  if (GOOD(TRITONSERVER_MetricNew, &metric, family,
           const_cast<const TRITONSERVER_Parameter**>(labels), 1)) {
    double value = 0;
    GOOD(TRITONSERVER_MetricSet, metric, 4);
    GOOD(TRITONSERVER_MetricIncrement, metric, 0.5);
    GOOD(TRITONSERVER_MetricValue, metric, &value);
    SAME(value, 4.5);
    GOOD(TRITONSERVER_GetMetricKind, metric, &kind);
    GOOD(TRITONSERVER_MetricDelete, metric);
  }
  GOOD(TRITONSERVER_MetricFamilyDelete, family);
  family = nullptr;
  if (GOOD(TRITONSERVER_MetricFamilyNew, &family, TRITONSERVER_METRIC_KIND_HISTOGRAM,
           "every_histogram", "A histogram of the plug-in")) {
    TRITONSERVER_MetricArgs* args = nullptr;
    const double buckets[] = {1, 2, 4};
    GOOD(TRITONSERVER_MetricArgsNew, &args);
    GOOD(TRITONSERVER_MetricArgsSetHistogram, args, buckets, 3);
    if (GOOD(TRITONSERVER_MetricNewWithArgs, &metric, family,
             const_cast<const TRITONSERVER_Parameter**>(labels), 1, args)) {
      GOOD(TRITONSERVER_MetricObserve, metric, 3);
      GOOD(TRITONSERVER_MetricDelete, metric);
    }
    GOOD(TRITONSERVER_MetricArgsDelete, args);
    GOOD(TRITONSERVER_MetricFamilyDelete, family);
  }
  CALL(TRITONSERVER_ParameterDelete, label);
  TRITONSERVER_Parameter* const bytes = CALL(TRITONSERVER_ParameterBytesNew, "file:a", "abc", 3);
  SAME(bytes == nullptr, false);
  CALL(TRITONSERVER_ParameterDelete, bytes);
}

void Trace(TRITONSERVER_InferenceTrace* trace) {
  uint64_t number = 0;
  GOOD(TRITONSERVER_InferenceTraceId, trace, &number);
  SAME(number > 0, true);
  GOOD(TRITONSERVER_InferenceTraceParentId, trace, &number);
  const char* text = nullptr;
  GOOD(TRITONSERVER_InferenceTraceModelName, trace, &text);
  int64_t version = 0;
  GOOD(TRITONSERVER_InferenceTraceModelVersion, trace, &version);
  GOOD(TRITONSERVER_InferenceTraceRequestId, trace, &text);
  GOOD(TRITONSERVER_InferenceTraceReportActivity, trace, Now(), "EVERY_ACTIVITY");
  TRITONSERVER_InferenceTrace* child = nullptr;
  if (GOOD(TRITONSERVER_InferenceTraceSpawnChildTrace, trace, &child) && child) {
    GOOD(TRITONSERVER_InferenceTraceDelete, child);
  }
  GOOD(TRITONSERVER_InferenceTraceContext, trace, &text);
}

namespace {

// Notes a call that this server may refuse, as not every server lets models be loaded.
void Answered(const char* function, TRITONSERVER_Error* error) {
  Note(function);
  if (!error) return;
  const auto code = TRITONSERVER_ErrorCode(error);
  if (code == TRITONSERVER_ERROR_INTERNAL || code == TRITONSERVER_ERROR_UNKNOWN) {
    Good(function, error);
  } else {
    TRITONSERVER_ErrorDelete(error);
  }
}

#define ANSWERED(function, ...) Answered(#function, function(__VA_ARGS__))

void AskForLoads(TRITONSERVER_Server* server) {
  ANSWERED(TRITONSERVER_ServerLoadModel, server, "absent");
  ANSWERED(TRITONSERVER_ServerLoadModelWithParameters, server, "absent", nullptr, 0);
  ANSWERED(TRITONSERVER_ServerUnloadModel, server, "absent");
  ANSWERED(TRITONSERVER_ServerUnloadModelAndDependents, server, "absent");
  ANSWERED(TRITONSERVER_ServerRegisterModelRepository, server, "/absent", nullptr, 0);
  ANSWERED(TRITONSERVER_ServerUnregisterModelRepository, server, "/absent");
  ANSWERED(TRITONSERVER_ServerPollModelRepository, server);
}

}  // namespace

void AskServer(TRITONSERVER_Server* server, const char* model, uint64_t version) {
  AskForLoads(server);
  const auto number = static_cast<int64_t>(version);
  bool yes = false;
  GOOD(TRITONSERVER_ServerIsLive, server, &yes);
  SAME(yes, true);
  GOOD(TRITONSERVER_ServerIsReady, server, &yes);
  GOOD(TRITONSERVER_ServerModelIsReady, server, model, number, &yes);
  SAME(yes, true);
  uint32_t flags = 0;
  void* user = nullptr;
  GOOD(TRITONSERVER_ServerModelBatchProperties, server, model, number, &flags, &user);
  SAME(flags, TRITONSERVER_BATCH_FIRST_DIM);
  GOOD(TRITONSERVER_ServerModelTransactionProperties, server, model, number, &flags, &user);
  SAME(flags, TRITONSERVER_TXN_ONE_TO_ONE);
  TRITONSERVER_Message* message = nullptr;
  if (GOOD(TRITONSERVER_ServerMetadata, server, &message)) Fact("server.metadata", Taken(message));
  if (GOOD(TRITONSERVER_ServerModelMetadata, server, model, number, &message)) {
    Fact("model.metadata", Taken(message));
  }
  if (GOOD(TRITONSERVER_ServerModelStatistics, server, model, number, &message)) {
    Fact("model.statistics", Taken(message));
  }
  if (GOOD(TRITONSERVER_ServerModelConfig, server, model, number, 1, &message)) {
    Fact("model.config", Taken(message));
  }
  if (GOOD(TRITONSERVER_ServerModelIndex, server, TRITONSERVER_INDEX_FLAG_READY, &message)) {
    Fact("server.index", Taken(message));
  }
  TRITONSERVER_Metrics* metrics = nullptr;
  if (GOOD(TRITONSERVER_ServerMetrics, server, &metrics)) {
    const char* base = nullptr;
    size_t size = 0;
    GOOD(TRITONSERVER_MetricsFormatted, metrics, TRITONSERVER_METRIC_PROMETHEUS, &base, &size);
    SAME(size > 0, true);
    GOOD(TRITONSERVER_MetricsDelete, metrics);
  }
}

void Ask(TRITONSERVER_Server* server, const char* model) {
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  if (!GOOD(TRITONSERVER_ResponseAllocatorNew, &allocator, Allocate, Free, Begin)) return;
  GOOD(TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction, allocator, Describe);
  GOOD(TRITONSERVER_ResponseAllocatorSetQueryFunction, allocator, Query);
  TRITONSERVER_InferenceRequest* request = nullptr;
  if (!GOOD(TRITONSERVER_InferenceRequestNew, &request, server, model, -1)) {
    GOOD(TRITONSERVER_ResponseAllocatorDelete, allocator);
    return;
  }
  Waiter waiter;
  const float values[] = {1, 2};
  SetAll(request);
  SetInputs(request, values);
  GOOD(TRITONSERVER_InferenceRequestSetReleaseCallback, request, OnRelease, &waiter);
  GOOD(TRITONSERVER_InferenceRequestSetResponseCallback, request, allocator, &waiter, OnResponse,
       &waiter);
  BAD(INTERNAL, TRITONSERVER_InferenceRequestCancel, request);
  bool cancelled = true;
  BAD(INTERNAL, TRITONSERVER_InferenceRequestIsCancelled, request, &cancelled);
  if (GOOD(TRITONSERVER_ServerInferAsync, server, request, NewTrace())) {
    std::unique_lock lock(waiter.mutex);
    waiter.changed.wait(lock, [&] { return waiter.final && waiter.released; });
  }
  if (waiter.response) {
    ReadResponse(waiter.response, model);
    GOOD(TRITONSERVER_InferenceResponseDelete, waiter.response);
    SAME(waiter.started, 1);
    SAME(waiter.allocated, 1);
    SAME(waiter.described, 1);
    SAME(waiter.freed, 1);
  } else {
    Fault("the model that the plug-in asks gave no response");
  }
  GOOD(TRITONSERVER_InferenceRequestDelete, request);
  GOOD(TRITONSERVER_ResponseAllocatorDelete, allocator);
}

}  // namespace tritonts::plugin::every

// What a request, its inputs and its responses are told.
#include "every.h"

namespace tritonts::plugin::every {

namespace {

void ReadOne(TRITONBACKEND_Request* request, uint32_t index) {
  const char* name = nullptr;
  if (!GOOD(TRITONBACKEND_RequestInputName, request, index, &name)) return;
  TRITONBACKEND_Input* input = nullptr;
  TRITONBACKEND_Input* same = nullptr;
  GOOD(TRITONBACKEND_RequestInputByIndex, request, index, &input);
  GOOD(TRITONBACKEND_RequestInput, request, name, &same);
  SAME(input, same);
  const char* told = nullptr;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0;
  uint64_t size = 0;
  uint32_t buffers = 0;
  if (!GOOD(TRITONBACKEND_InputProperties, input, &told, &datatype, &shape, &rank, &size,
            &buffers)) {
    return;
  }
  SAME(std::string(told), name);
  std::string text = CALL(TRITONSERVER_DataTypeString, datatype);
  for (uint32_t i = 0; i < rank; i++) text += " " + std::to_string(shape[i]);
  Fact(std::string("request.input.") + name, text);
  // Each of them may be left out.
  GOOD(TRITONBACKEND_InputProperties, input, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  for (const char* policy : {"cpu", static_cast<const char*>(nullptr)}) {
    uint64_t policy_size = 0;
    uint32_t policy_buffers = 0;
    GOOD(TRITONBACKEND_InputPropertiesForHostPolicy, input, policy, &told, &datatype, &shape, &rank,
         &policy_size, &policy_buffers);
    SAME(policy_size, size);
    SAME(policy_buffers, buffers);
  }
  std::string bytes;
  for (uint32_t i = 0; i < buffers; i++) {
    const void* data = nullptr;
    uint64_t part = 0;
    TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_GPU;
    int64_t device = 0;
    if (!GOOD(TRITONBACKEND_InputBuffer, input, i, &data, &part, &kind, &device)) return;
    SAME(kind != TRITONSERVER_MEMORY_GPU, true);
    if (part > 0) bytes.append(static_cast<const char*>(data), part);
    const void* again = nullptr;
    uint64_t again_part = 0;
    TRITONSERVER_MemoryType again_kind = TRITONSERVER_MEMORY_CPU;
    GOOD(TRITONBACKEND_InputBufferForHostPolicy, input, "cpu", i, &again, &again_part, &again_kind,
         &device);
    SAME(again_part, part);
    TRITONSERVER_BufferAttributes* attributes = nullptr;
    if (!GOOD(TRITONBACKEND_InputBufferAttributes, input, i, &again, &attributes)) return;
    size_t attribute_size = 0;
    GOOD(TRITONSERVER_BufferAttributesByteSize, attributes, &attribute_size);
    SAME(attribute_size, part);
    TRITONSERVER_MemoryType attribute_kind = TRITONSERVER_MEMORY_GPU;
    GOOD(TRITONSERVER_BufferAttributesMemoryType, attributes, &attribute_kind);
    SAME(attribute_kind, kind);
    GOOD(TRITONSERVER_BufferAttributesMemoryTypeId, attributes, &device);
    void* handle = &device;
    GOOD(TRITONSERVER_BufferAttributesCudaIpcHandle, attributes, &handle);
    SAME(handle, nullptr);
    // They are the input's.
    BAD(INVALID_ARG, TRITONSERVER_BufferAttributesDelete, attributes);
  }
  SAME(bytes.size(), size);
  const void* data = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  BAD(INVALID_ARG, TRITONBACKEND_InputBuffer, input, buffers, &data, &size, &kind, &device);
}

void ReadParameters(TRITONBACKEND_Request* request) {
  uint32_t count = 0;
  GOOD(TRITONBACKEND_RequestParameterCount, request, &count);
  for (uint32_t i = 0; i < count; i++) {
    const char* key = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_BYTES;
    const void* value = nullptr;
    if (!GOOD(TRITONBACKEND_RequestParameter, request, i, &key, &type, &value)) continue;
    std::string text = CALL(TRITONSERVER_ParameterTypeString, type);
    if (type == TRITONSERVER_PARAMETER_STRING) {
      text += std::string(" ") + static_cast<const char*>(value);
    } else if (type == TRITONSERVER_PARAMETER_INT) {
      text += " " + std::to_string(*static_cast<const int64_t*>(value));
    } else if (type == TRITONSERVER_PARAMETER_BOOL) {
      text += *static_cast<const bool*>(value) ? " true" : " false";
    } else if (type == TRITONSERVER_PARAMETER_DOUBLE) {
      text += " " + std::to_string(*static_cast<const double*>(value));
    }
    Fact(std::string("request.parameter.") + key, text);
  }
}

// An output of a response, with what its buffer says of itself.
void Give(TRITONBACKEND_Response* response, const char* name, TRITONSERVER_DataType datatype,
          const std::vector<int64_t>& shape, const std::string& bytes) {
  TRITONBACKEND_Output* output = nullptr;
  if (!GOOD(TRITONBACKEND_ResponseOutput, response, &output, name, datatype, shape.data(),
            static_cast<uint32_t>(shape.size()))) {
    return;
  }
  void* place = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  if (!GOOD(TRITONBACKEND_OutputBuffer, output, &place, bytes.size(), &kind, &device)) return;
  SAME(kind, TRITONSERVER_MEMORY_CPU);
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  if (!GOOD(TRITONBACKEND_OutputBufferAttributes, output, &attributes)) return;
  size_t size = 0;
  GOOD(TRITONSERVER_BufferAttributesByteSize, attributes, &size);
  SAME(size, bytes.size());
  // They are the output's.
  BAD(INVALID_ARG, TRITONSERVER_BufferAttributesDelete, attributes);
}

// A list of strings as an output of one row.
void GiveStrings(TRITONBACKEND_Response* response, const char* name,
                 const std::vector<std::string>& strings) {
  Give(response, name, TRITONSERVER_TYPE_BYTES, {1, static_cast<int64_t>(strings.size())},
       Strings(strings));
}

// Parameters of each type, one of them set twice, and one that is not accepted.
void SetParameters(TRITONBACKEND_Response* response) {
  GOOD(TRITONBACKEND_ResponseSetStringParameter, response, "text", "once");
  GOOD(TRITONBACKEND_ResponseSetStringParameter, response, "text", "twice");
  GOOD(TRITONBACKEND_ResponseSetIntParameter, response, "whole", -7);
  GOOD(TRITONBACKEND_ResponseSetBoolParameter, response, "flag", true);
  GOOD(TRITONBACKEND_ResponseSetDoubleParameter, response, "real", 0.25);
  BAD(INVALID_ARG, TRITONBACKEND_ResponseSetStringParameter, response, "huge",
      std::string(1 << 20, 'x').c_str());
  BAD(INVALID_ARG, TRITONBACKEND_ResponseSetIntParameter, response, nullptr, 1);
  BAD(INVALID_ARG, TRITONBACKEND_ResponseSetStringParameter, response, "null", nullptr);
}

// Reads back what a response has.
void ReadBack(TRITONBACKEND_Response* response) {
  const char* name = nullptr;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint64_t rank = 0;
  if (GOOD(TRITONBACKEND_InferenceResponseOutput, response, 0, &name, &datatype, &shape, &rank)) {
    SAME(std::string(name), "y");
    SAME(datatype, TRITONSERVER_TYPE_FP32);
    SAME(rank, 2u);
  }
  datatype = TRITONSERVER_TYPE_INVALID;
  if (GOOD(TRITONBACKEND_InferenceResponseOutputByName, response, "y", &datatype, &shape, &rank)) {
    SAME(datatype, TRITONSERVER_TYPE_FP32);
  }
  BAD(INVALID_ARG, TRITONBACKEND_InferenceResponseOutput, response, 99, &name, &datatype, &shape,
      &rank);
}

// Reports the response of a factory, which then is deleted.
void ReportResponse(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_ResponseFactory* factory,
                    uint64_t start) {
  TRITONBACKEND_ModelInstanceResponseStatistics* report = nullptr;
  if (!GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsNew, &report)) return;
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance, report, instance);
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory, report, factory);
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart, report, start);
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart, report, start);
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd, report, Now());
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsSetError, report, nullptr);
  GOOD(TRITONBACKEND_ModelInstanceReportResponseStatistics, report);
  GOOD(TRITONBACKEND_ModelInstanceResponseStatisticsDelete, report);
}

}  // namespace

void Read(TRITONBACKEND_Request* request) {
  const char* id = nullptr;
  GOOD(TRITONBACKEND_RequestId, request, &id);
  Fact("request.id", id);
  bool cancelled = true;
  GOOD(TRITONBACKEND_RequestIsCancelled, request, &cancelled);
  SAME(cancelled, false);
  uint64_t correlation = 0;
  const char* correlation_text = nullptr;
  // One of them is what the request has.
  Error number = CALL(TRITONBACKEND_RequestCorrelationId, request, &correlation);
  Error text = CALL(TRITONBACKEND_RequestCorrelationIdString, request, &correlation_text);
  SAME((number == nullptr) != (text == nullptr), true);
  Fact("request.correlation",
       text ? std::to_string(correlation) : std::string("'") + correlation_text + "'");
  if (number) TRITONSERVER_ErrorDelete(number);
  if (text) TRITONSERVER_ErrorDelete(text);
  uint32_t flags = 99;
  GOOD(TRITONBACKEND_RequestFlags, request, &flags);
  Fact("request.flags", flags);
  uint64_t timeout = 99;
  GOOD(TRITONBACKEND_InferenceRequestTimeoutMicroseconds, request, &timeout);
  Fact("request.timeout", static_cast<int64_t>(timeout));
  ReadParameters(request);
  uint32_t inputs = 0;
  GOOD(TRITONBACKEND_RequestInputCount, request, &inputs);
  for (uint32_t i = 0; i < inputs; i++) ReadOne(request, i);
  uint32_t outputs = 0;
  GOOD(TRITONBACKEND_RequestOutputCount, request, &outputs);
  std::string names;
  for (uint32_t i = 0; i < outputs; i++) {
    const char* name = nullptr;
    if (!GOOD(TRITONBACKEND_RequestOutputName, request, i, &name)) continue;
    names += std::string(i == 0 ? "" : " ") + name;
    size_t size = 0;
    TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
    // It may be unknown, which is no fault.
    Error error =
        CALL(TRITONBACKEND_RequestOutputBufferProperties, request, name, &size, &kind, &device);
    if (!error) continue;
    if (TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_UNAVAILABLE) {
      TRITONSERVER_ErrorDelete(error);
    } else {
      Good("TRITONBACKEND_RequestOutputBufferProperties", error);
    }
  }
  Fact("request.outputs", names);
  TRITONSERVER_InferenceTrace* trace = nullptr;
  GOOD(TRITONBACKEND_RequestTrace, request, &trace);
  Fact("request.traced", trace ? "yes" : "no");
  if (trace) Trace(trace);
}

void Answer(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, uint64_t start) {
  Tensor x;
  if (!GOOD(ReadInput, request, "x", &x)) x.shape = {1, 0};
  // A response that is dropped, and the one that is sent.
  TRITONBACKEND_Response* response = nullptr;
  if (GOOD(TRITONBACKEND_ResponseNew, &response, request)) {
    Give(response, "y", TRITONSERVER_TYPE_FP32, x.shape, x.bytes);
    GOOD(TRITONBACKEND_ResponseSetBoolParameter, response, "dropped", true);
    GOOD(TRITONBACKEND_ResponseDelete, response);
  }
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  if (!GOOD(TRITONBACKEND_ResponseFactoryNew, &factory, request)) {
    Release(request);
    return;
  }
  bool cancelled = true;
  GOOD(TRITONBACKEND_ResponseFactoryIsCancelled, factory, &cancelled);
  SAME(cancelled, false);
  const uint64_t end = Now();
  GOOD(TRITONBACKEND_ModelInstanceReportStatistics, instance, request, true, start, start, end,
       end);
  // The state of a sequence, which no model of the tests has.
  TRITONBACKEND_State* state = nullptr;
  const int64_t one[] = {1};
  Error none =
      CALL(TRITONBACKEND_StateNew, &state, request, "state", TRITONSERVER_TYPE_FP32, one, 1);
  SAME(none == nullptr, false);
  if (none) TRITONSERVER_ErrorDelete(none);
  GOOD(TRITONBACKEND_ResponseNewFromFactory, &response, factory);
  Give(response, "y", TRITONSERVER_TYPE_FP32, x.shape, x.bytes);
  SetParameters(response);
  ReadBack(response);
  Note("TRITONBACKEND_ResponseSend");
  Note("TRITONBACKEND_ResponseFactorySendFlags");
  Note("TRITONBACKEND_RequestRelease");
  Note("TRITONBACKEND_ResponseFactoryDelete");
  ReportResponse(instance, factory, start);
  GiveStrings(response, "called", Called());
  GiveStrings(response, "facts", Facts());
  GiveStrings(response, "faults", Faults());
  GOOD(TRITONBACKEND_ResponseSend, response, 0, nullptr);
  GOOD(TRITONBACKEND_RequestRelease, request, TRITONSERVER_REQUEST_RELEASE_ALL);
  // The end of the responses, after the request is the server's again.
  GOOD(TRITONBACKEND_ResponseFactorySendFlags, factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
  GOOD(TRITONBACKEND_ResponseFactoryDelete, factory);
}

}  // namespace tritonts::plugin::every

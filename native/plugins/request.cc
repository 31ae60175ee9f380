// The requests of a batch, and their inputs.
#include <cstring>
#include <span>
#include <string>

#include "plugins/batch.h"
#include "plugins/batcher.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// What a request's id is passed as (src/server/requests/request-attributes.ts).
constexpr const char* kIdParameter = "triton_request_id";

const ModelTensors& TensorsOf(const TRITONBACKEND_Request* request) {
  return request->batch ? request->batch->tensors() : *request->tensors;
}

Status RequestFault(const TRITONBACKEND_Request* request, const std::string& what) {
  return Status::InvalidArg("model '" + TensorsOf(request).model + "': " + what);
}

// Calls `call` with the engine's request, which the plug-in has until it releases it, or which
// custom batching asks about.
template <typename Call>
TRITONSERVER_Error* WithHeld(const TRITONBACKEND_Request* request, const char* function,
                             const Call& call) noexcept {
  return Guard([&]() -> Status {
    if (request->queued) return call(*request->queued);
    if (!request->held) {
      return Status::InvalidArg(std::string(function) +
                                ": the backend does not have this request any more");
    }
    return call(*request->batch->run().requests()[request->position]);
  });
}

std::span<const InputTensor> InputsOf(const TRITONBACKEND_Request* request) {
  return request->queued ? request->queued->inputs()
                         : request->batch->run().inputs(request->position);
}

const TensorSpec& SpecOf(const TRITONBACKEND_Request* request, const InputTensor& input) {
  return TensorsOf(request).io.inputs[input.index];
}

Status BeyondRange(const TRITONBACKEND_Request* request, const char* what, uint32_t index,
                   size_t count) {
  return RequestFault(request, std::string("expected an index of ") + what + " below " +
                                   std::to_string(count) + ", but got " + std::to_string(index));
}

// Calls `call` with the engine's request and the tensor of an input.
template <typename Call>
TRITONSERVER_Error* WithTensor(const TRITONBACKEND_Input* input, const char* function,
                               const Call& call) noexcept {
  return WithHeld(input->request, function, [&](const Request& known) -> Status {
    const std::span<const InputTensor> tensors = InputsOf(input->request);
    const auto at = static_cast<size_t>(input - input->request->inputs.data());
    if (at < tensors.size()) return call(known, tensors[at]);
    return RequestFault(input->request, std::string(function) +
                                            ": the input is of an earlier request, and this one "
                                            "has no input at its position");
  });
}

// The outputs that a request wants: those that it names, or all that callers may get. A null row
// (row_inputs.h) wants none, as in Triton, and names what is none.
template <typename Visit>
void ForEachWanted(const TRITONBACKEND_Request* request, const Request& known, const Visit& visit) {
  if (known.header->null_row) return;
  if (!known.header->wanted.empty()) {
    for (const uint32_t index : known.header->wanted) visit(index);
    return;
  }
  const auto& outputs = TensorsOf(request).io.outputs;
  for (uint32_t index = 0; index < outputs.size(); index++) {
    if (!outputs[index].internal) visit(index);
  }
}

// The parameters of a request but for its id.
template <typename Visit>
void ForEachParameter(const Request& known, const Visit& visit) {
  for (const RequestParameter& one : known.parameters()) {
    if (one.name != kIdParameter) visit(one);
  }
}

// The chunk of an input, if the plug-in still has its request.
template <typename Take>
TRITONSERVER_Error* WithChunk(TRITONBACKEND_Input* input, const char* function, uint32_t index,
                              const Take& take) noexcept {
  return WithTensor(input, function, [&](const Request& known, const InputTensor& tensor) {
    const size_t count = known.chunks(tensor);
    if (index >= count) return BeyondRange(input->request, "the input's buffers", index, count);
    take(known.chunk(tensor, index));
    return Status::Ok();
  });
}

}  // namespace

// --- Requests.

TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request* request,
                                            const char** id) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    const RequestParameter* const parameter = known.parameter(kIdParameter);
    const auto* const text = parameter ? std::get_if<std::string>(&parameter->value) : nullptr;
    *id = text ? text->c_str() : "";
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* is_cancelled) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    *is_cancelled = known.cancelled.load(std::memory_order_relaxed) ||
                    (request->batch && request->batch->terminated());
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request* request,
                                                       uint64_t* id) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    const SequenceId& sequence = known.sequence().id;
    if (!sequence.text.empty()) return RequestFault(request, "the correlation id is a text");
    *id = sequence.number;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request* request,
                                                             const char** id) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    const SequenceId& sequence = known.sequence().id;
    if (sequence.text.empty()) return RequestFault(request, "the correlation id is a number");
    *id = sequence.text.c_str();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request,
                                               uint32_t* flags) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    const SequenceMark& mark = known.sequence();
    *flags = (mark.start ? uint32_t{TRITONSERVER_REQUEST_FLAG_SEQUENCE_START} : 0) |
             (mark.end ? uint32_t{TRITONSERVER_REQUEST_FLAG_SEQUENCE_END} : 0);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(
    TRITONBACKEND_Request* request, uint64_t* timeout) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    *timeout = known.timeout_ns() / 1000;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request,
                                                        uint32_t* count) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    uint32_t found = 0;
    ForEachParameter(known, [&](const RequestParameter&) { found++; });
    *count = found;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request, uint32_t index,
                                                   const char** key,
                                                   TRITONSERVER_ParameterType* type,
                                                   const void** vvalue) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    uint32_t at = 0;
    const RequestParameter* found = nullptr;
    ForEachParameter(known, [&](const RequestParameter& one) {
      if (at++ == index) found = &one;
    });
    if (!found) return BeyondRange(request, "the request's parameters", index, at);
    if (key) *key = found->name.c_str();
    const auto tell = [&](TRITONSERVER_ParameterType its_type, const void* value) {
      if (type) *type = its_type;
      if (vvalue) *vvalue = value;
    };
    if (const auto* text = std::get_if<std::string>(&found->value)) {
      tell(TRITONSERVER_PARAMETER_STRING, text->c_str());
    } else if (const auto* number = std::get_if<int64_t>(&found->value)) {
      tell(TRITONSERVER_PARAMETER_INT, number);
    } else if (const auto* fraction = std::get_if<double>(&found->value)) {
      tell(TRITONSERVER_PARAMETER_DOUBLE, fraction);
    } else {
      tell(TRITONSERVER_PARAMETER_BOOL, std::get_if<bool>(&found->value));
    }
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request,
                                                    uint32_t* count) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    *count = static_cast<uint32_t>(InputsOf(request).size());
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputName(TRITONBACKEND_Request* request, uint32_t index,
                                                   const char** input_name) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    const auto inputs = InputsOf(request);
    if (index >= inputs.size()) {
      return BeyondRange(request, "the request's inputs", index, inputs.size());
    }
    *input_name = SpecOf(request, inputs[index]).name.c_str();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    const auto inputs = InputsOf(request);
    for (size_t at = 0; at < inputs.size(); at++) {
      if (SpecOf(request, inputs[at]).name != name) continue;
      *input = &request->inputs[at];
      return Status::Ok();
    }
    return RequestFault(request, std::string("the request has no input '") + name + "'");
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request,
                                                      uint32_t index,
                                                      TRITONBACKEND_Input** input) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    const size_t count = InputsOf(request).size();
    if (index >= count) return BeyondRange(request, "the request's inputs", index, count);
    *input = &request->inputs[index];
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    uint32_t found = 0;
    ForEachWanted(request, known, [&](uint32_t) { found++; });
    *count = found;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, uint32_t index,
                                                    const char** output_name) noexcept {
  return WithHeld(request, __func__, [&](const Request& known) {
    uint32_t at = 0;
    const char* found = nullptr;
    ForEachWanted(request, known, [&](uint32_t output) {
      if (at++ == index) found = TensorsOf(request).io.outputs[output].name.c_str();
    });
    if (!found) return BeyondRange(request, "the request's outputs", index, at);
    *output_name = found;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputBufferProperties(TRITONBACKEND_Request* request,
                                                                const char*, size_t*,
                                                                TRITONSERVER_MemoryType*,
                                                                int64_t*) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    return Status::Unavailable(Reason::kNone,
                               "where an output will be is not known before its buffer is made");
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request,
                                                 uint32_t release_flags) noexcept {
  return Guard([&]() -> Status {
    if (FormsBatch()) return NotWhileBatching("TRITONBACKEND_RequestRelease");
    if (release_flags != TRITONSERVER_REQUEST_RELEASE_ALL &&
        release_flags != TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) {
      return Status::InvalidArg(
          "TRITONBACKEND_RequestRelease: expected the flag ALL (1) or RESCHEDULE (2), but got " +
          std::to_string(release_flags));
    }
    if (!request->held) {
      return Status::InvalidArg(
          "TRITONBACKEND_RequestRelease: the backend does not have this request any more");
    }
    return request->batch->Release(request,
                                   release_flags == TRITONSERVER_REQUEST_RELEASE_RESCHEDULE);
  });
}

TRITONSERVER_Error* TRITONBACKEND_RequestTrace(TRITONBACKEND_Request* request,
                                               TRITONSERVER_InferenceTrace** trace) noexcept {
  return WithHeld(request, __func__, [&](const Request&) {
    // The engine traces requests itself, also what a backend reports of them.
    *trace = nullptr;
    return Status::Ok();
  });
}

// --- Inputs.

TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* datatype,
                                                  const int64_t** shape, uint32_t* dims_count,
                                                  uint64_t* byte_size,
                                                  uint32_t* buffer_count) noexcept {
  return WithTensor(input, __func__, [&](const Request& known, const InputTensor& tensor) {
    if (name) *name = SpecOf(input->request, tensor).name.c_str();
    if (datatype) *datatype = static_cast<TRITONSERVER_DataType>(tensor.datatype);
    if (shape) *shape = tensor.shape.data();
    if (dims_count) *dims_count = static_cast<uint32_t>(tensor.shape.size());
    if (byte_size) *byte_size = tensor.byte_size();
    if (buffer_count) *buffer_count = static_cast<uint32_t>(known.chunks(tensor));
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_InputPropertiesForHostPolicy(
    TRITONBACKEND_Input* input, const char*, const char** name, TRITONSERVER_DataType* datatype,
    const int64_t** shape, uint32_t* dims_count, uint64_t* byte_size,
    uint32_t* buffer_count) noexcept {
  // All policies have the same bytes.
  return TRITONBACKEND_InputProperties(input, name, datatype, shape, dims_count, byte_size,
                                       buffer_count);
}

TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, uint32_t index,
                                              const void** buffer, uint64_t* buffer_byte_size,
                                              TRITONSERVER_MemoryType* memory_type,
                                              int64_t* memory_type_id) noexcept {
  return WithChunk(input, __func__, index, [&](const Buffer& chunk) {
    *buffer = chunk.data;
    *buffer_byte_size = chunk.size;
    if (memory_type) *memory_type = MemoryTypeOf(chunk.kind);
    if (memory_type_id) *memory_type_id = chunk.device;
  });
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferForHostPolicy(TRITONBACKEND_Input* input, const char*,
                                                           uint32_t index, const void** buffer,
                                                           uint64_t* buffer_byte_size,
                                                           TRITONSERVER_MemoryType* memory_type,
                                                           int64_t* memory_type_id) noexcept {
  return TRITONBACKEND_InputBuffer(input, index, buffer, buffer_byte_size, memory_type,
                                   memory_type_id);
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferAttributes(
    TRITONBACKEND_Input* input, uint32_t index, const void** buffer,
    TRITONSERVER_BufferAttributes** buffer_attributes) noexcept {
  return WithChunk(input, __func__, index, [&](const Buffer& chunk) {
    input->attributes = {chunk.size, MemoryTypeOf(chunk.kind), chunk.device, nullptr};
    *buffer = chunk.data;
    *buffer_attributes = &input->attributes;
  });
}

}  // namespace tritonts::plugins

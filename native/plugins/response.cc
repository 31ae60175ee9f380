// Responses to the requests of a batch, their outputs, and the states of sequences.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/batch.h"
#include "plugins/batcher.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// As the engine limits the dims of a tensor.
constexpr uint32_t kMostDims = 64;

Status RequestNotHeld(const char* function) {
  return Status::InvalidArg(std::string(function) +
                            ": the backend does not have this request any more");
}

Status HandleIsGone(const char* function, const char* what) {
  return Status::InvalidArg(std::string(function) + ": the " + what +
                            " was sent or deleted before");
}

bool Lives(const TRITONBACKEND_Response* response) {
  return response->live;
}

// Whether an output is one of its response's. A response that is used again has not those that it
// had before.
bool Lives(const TRITONBACKEND_Output* output) {
  const TRITONBACKEND_Response* const response = output->response;
  return response && response->live && output < response->outputs.data() + response->output_count;
}

bool Lives(const TRITONBACKEND_ResponseFactory* factory) {
  return factory->live;
}

bool Lives(const TRITONBACKEND_State* state) {
  return state->live && state->request->held;
}

// Tells where memory is. `type` and `id` may be null.
void TellPlace(const Buffer& buffer, void** data, TRITONSERVER_MemoryType* type, int64_t* id) {
  *data = buffer.data;
  if (type) *type = MemoryTypeOf(buffer.kind);
  if (id) *id = buffer.device;
}

// An output of a name, or the error that there is none.
StatusOr<uint32_t> FindOutput(const ModelTensors& tensors, const char* name) {
  const std::vector<TensorSpec>& outputs = tensors.io.outputs;
  // Mostly the plug-in has the name from here.
  for (uint32_t i = 0; i < outputs.size(); i++) {
    if (outputs[i].name.c_str() == name) return i;
  }
  for (uint32_t i = 0; i < outputs.size(); i++) {
    if (outputs[i].name == name) return i;
  }
  return Status::InvalidArg("model '" + tensors.model + "': its backend made an output '" + name +
                            "', which the configuration does not have");
}

Status CheckDims(const ModelTensors& tensors, const char* name, const int64_t* shape,
                 uint32_t dims_count) {
  if (!shape && dims_count > 0) {
    return Status::InvalidArg("model '" + tensors.model + "': output '" + name +
                              "' has a shape of " + std::to_string(dims_count) +
                              " dims that is null");
  }
  if (dims_count <= kMostDims) return Status::Ok();
  return Status::InvalidArg("model '" + tensors.model + "': output '" + name + "' has " +
                            std::to_string(dims_count) + " dims; expected at most " +
                            std::to_string(kMostDims));
}

}  // namespace

// --- Factories.

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory** factory,
                                                     TRITONBACKEND_Request* request) noexcept {
  return Guard([&]() -> Status {
    if (!request->held) return RequestNotHeld("TRITONBACKEND_ResponseFactoryNew");
    *factory = request->batch->MakeFactory(request);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(
    TRITONBACKEND_ResponseFactory* factory) noexcept {
  return Guard([&]() -> Status {
    if (FormsBatch()) return NotWhileBatching("TRITONBACKEND_ResponseFactoryDelete");
    if (!Lives(factory)) return HandleIsGone("TRITONBACKEND_ResponseFactoryDelete", "factory");
    factory->request->batch->Delete(factory);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory* factory,
                                                           uint32_t send_flags) noexcept {
  return Guard([&]() -> Status {
    if (FormsBatch()) return NotWhileBatching("TRITONBACKEND_ResponseFactorySendFlags");
    if (!Lives(factory)) return HandleIsGone("TRITONBACKEND_ResponseFactorySendFlags", "factory");
    if ((send_flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) == 0) return Status::Ok();
    return factory->request->batch->SendFinal(factory);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory* factory,
                                                             bool* is_cancelled) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(factory)) return HandleIsGone("TRITONBACKEND_ResponseFactoryIsCancelled", "factory");
    Batch& batch = *factory->request->batch;
    *is_cancelled = batch.terminated() || batch.IsCancelled(factory->request);
    return Status::Ok();
  });
}

// --- Responses.

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) noexcept {
  return Guard([&]() -> Status {
    if (!request->held) return RequestNotHeld("TRITONBACKEND_ResponseNew");
    *response = request->batch->MakeResponse(request);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(
    TRITONBACKEND_Response** response, TRITONBACKEND_ResponseFactory* factory) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(factory)) return HandleIsGone("TRITONBACKEND_ResponseNewFromFactory", "factory");
    *response = factory->request->batch->MakeResponse(factory->request);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response* response) noexcept {
  return Guard([&]() -> Status {
    if (FormsBatch()) return NotWhileBatching("TRITONBACKEND_ResponseDelete");
    if (!Lives(response)) return HandleIsGone("TRITONBACKEND_ResponseDelete", "response");
    response->request->batch->Delete(response);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response,
                                               uint32_t send_flags,
                                               TRITONSERVER_Error* error) noexcept {
  return Guard([&]() -> Status {
    if (FormsBatch()) return NotWhileBatching("TRITONBACKEND_ResponseSend");
    if (!Lives(response)) return HandleIsGone("TRITONBACKEND_ResponseSend", "response");
    const bool is_final = (send_flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
    return response->request->batch->Send(response, is_final, error ? error->status : Status());
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 TRITONSERVER_DataType datatype,
                                                 const int64_t* shape,
                                                 uint32_t dims_count) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(response)) return HandleIsGone("TRITONBACKEND_ResponseOutput", "response");
    const ModelTensors& tensors = response->request->batch->tensors();
    if (!name) {
      return Status::InvalidArg("model '" + tensors.model +
                                "': its backend made an output without a name");
    }
    if (datatype < TRITONSERVER_TYPE_BOOL || datatype > TRITONSERVER_TYPE_BF16) {
      return Status::InvalidArg("model '" + tensors.model + "': output '" + name +
                                "' has the unknown datatype " +
                                std::to_string(static_cast<int>(datatype)));
    }
    StatusOr<uint32_t> index = FindOutput(tensors, name);
    if (!index.ok()) return index.status();
    if (tensors.io.outputs[index.value()].internal) {
      return Status::InvalidArg("model '" + tensors.model + "': output '" + name +
                                "' is the state of a sequence, which no response has; "
                                "TRITONBACKEND_StateNew makes it");
    }
    Status shaped = CheckDims(tensors, name, shape, dims_count);
    if (!shaped.ok()) return shaped;
    for (uint32_t i = 0; i < response->output_count; i++) {
      if (response->outputs[i].index != index.value()) continue;
      return Status(
          Code::kAlreadyExists,
          "model '" + tensors.model + "': the response has the output '" + name + "' already");
    }
    TRITONBACKEND_Output& made = response->outputs[response->output_count];
    made.response = response;
    made.index = index.value();
    made.datatype = static_cast<DataType>(datatype);
    made.shape.assign(shape, shape + dims_count);
    made.has_buffer = made.in_place = made.shared = false;
    response->output_count++;
    *output = &made;
    return Status::Ok();
  });
}

// --- Parameters of responses.

namespace {

// `Kept` is the type in which the response keeps the value.
template <typename Kept, typename Value>
TRITONSERVER_Error* SetParameter(const char* function, TRITONBACKEND_Response* response,
                                 const char* name, Value value) {
  return Guard([&]() -> Status {
    if (!Lives(response)) return HandleIsGone(function, "response");
    // Made here, because a copy of a text may find no memory.
    const Status status = response->parameters.Set(name, Kept(value));
    if (status.ok()) return status;
    return Status(status.code(),
                  "model '" + response->request->batch->tensors().model + "': " + status.message());
  });
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response* response,
                                                             const char* name,
                                                             const char* value) noexcept {
  return SetParameter<std::string>("TRITONBACKEND_ResponseSetStringParameter", response, name,
                                   value);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetIntParameter(TRITONBACKEND_Response* response,
                                                          const char* name,
                                                          int64_t value) noexcept {
  return SetParameter<int64_t>("TRITONBACKEND_ResponseSetIntParameter", response, name, value);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetBoolParameter(TRITONBACKEND_Response* response,
                                                           const char* name, bool value) noexcept {
  return SetParameter<bool>("TRITONBACKEND_ResponseSetBoolParameter", response, name, value);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetDoubleParameter(TRITONBACKEND_Response* response,
                                                             const char* name,
                                                             double value) noexcept {
  return SetParameter<double>("TRITONBACKEND_ResponseSetDoubleParameter", response, name, value);
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutput(TRITONBACKEND_Response* response,
                                                          uint32_t index, const char** name,
                                                          TRITONSERVER_DataType* datatype,
                                                          const int64_t** shape,
                                                          uint64_t* dim_count) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(response)) return HandleIsGone("TRITONBACKEND_InferenceResponseOutput", "response");
    if (index >= response->output_count) {
      return Status::InvalidArg(
          "TRITONBACKEND_InferenceResponseOutput: expected an index of the response's outputs "
          "below " +
          std::to_string(response->output_count) + ", but got " + std::to_string(index));
    }
    const TRITONBACKEND_Output& output = response->outputs[index];
    if (name) *name = response->request->batch->tensors().io.outputs[output.index].name.c_str();
    if (datatype) *datatype = static_cast<TRITONSERVER_DataType>(output.datatype);
    if (shape) *shape = output.shape.data();
    if (dim_count) *dim_count = output.shape.size();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutputByName(TRITONBACKEND_Response* response,
                                                                const char* name,
                                                                TRITONSERVER_DataType* datatype,
                                                                const int64_t** shape,
                                                                uint64_t* dim_count) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(response))
      return HandleIsGone("TRITONBACKEND_InferenceResponseOutputByName", "response");
    const auto& outputs = response->request->batch->tensors().io.outputs;
    for (uint32_t i = 0; i < response->output_count; i++) {
      if (outputs[response->outputs[i].index].name != name) continue;
      return TakeError(
          TRITONBACKEND_InferenceResponseOutput(response, i, nullptr, datatype, shape, dim_count));
    }
    return Status::NotFound(std::string("the response has no output '") + name + "'");
  });
}

// --- Outputs.

TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               uint64_t buffer_byte_size,
                                               TRITONSERVER_MemoryType* memory_type,
                                               int64_t* memory_type_id) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(output)) return HandleIsGone("TRITONBACKEND_OutputBuffer", "response");
    Batch& batch = *output->response->request->batch;
    if (output->has_buffer) {
      return Status(Code::kAlreadyExists,
                    "model '" + batch.tensors().model + "': the buffer of output '" +
                        batch.tensors().io.outputs[output->index].name + "' was asked for twice");
    }
    Status placed = batch.Place(output, buffer_byte_size,
                                memory_type ? MemoryKindOf(*memory_type) : MemoryKind::kHost);
    if (!placed.ok()) return placed;
    TellPlace(output->buffer, buffer, memory_type, memory_type_id);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_OutputBufferAttributes(
    TRITONBACKEND_Output* output, TRITONSERVER_BufferAttributes** buffer_attributes) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(output)) return HandleIsGone("TRITONBACKEND_OutputBufferAttributes", "response");
    if (!output->has_buffer) {
      return Status::InvalidArg(
          "TRITONBACKEND_OutputBufferAttributes: expected a call of TRITONBACKEND_OutputBuffer "
          "before");
    }
    output->attributes = {output->buffer.size, MemoryTypeOf(output->buffer.kind),
                          output->buffer.device, nullptr};
    *buffer_attributes = &output->attributes;
    return Status::Ok();
  });
}

// --- States of sequences. The engine keeps them as outputs that no caller gets.

TRITONSERVER_Error* TRITONBACKEND_StateNew(TRITONBACKEND_State** state,
                                           TRITONBACKEND_Request* request, const char* name,
                                           TRITONSERVER_DataType datatype, const int64_t* shape,
                                           uint32_t dims_count) noexcept {
  return Guard([&]() -> Status {
    if (!request->held) return RequestNotHeld("TRITONBACKEND_StateNew");
    const ModelTensors& tensors = request->batch->tensors();
    const auto kept = request->batch->run().kept_outputs();
    const auto found = std::find_if(kept.begin(), kept.end(), [&](uint32_t index) {
      return tensors.io.outputs[index].name == name;
    });
    if (found == kept.end()) {
      return Status::InvalidArg("model '" + tensors.model + "': there is no state '" + name +
                                "' in sequence_batching of the configuration");
    }
    Status shaped = CheckDims(tensors, name, shape, dims_count);
    if (!shaped.ok()) return shaped;
    TRITONBACKEND_State* const made = request->batch->MakeState(request);
    made->index = *found;
    made->datatype = static_cast<DataType>(datatype);
    made->shape.assign(shape, shape + dims_count);
    *state = made;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_StateBuffer(TRITONBACKEND_State* state, void** buffer,
                                              uint64_t buffer_byte_size,
                                              TRITONSERVER_MemoryType* memory_type,
                                              int64_t* memory_type_id) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(state)) return RequestNotHeld("TRITONBACKEND_StateBuffer");
    // As in Triton, a buffer of this size stays what it is: the plug-in may have it already.
    if (!state->buffer.owner || state->buffer.size != buffer_byte_size) {
      BlockRef block = state->request->batch->run().pool().Acquire(buffer_byte_size);
      if (!block) return Status::NoMemory();
      state->buffer = {block->data(), buffer_byte_size, block->kind(), block->device(), block};
    }
    TellPlace(state->buffer, buffer, memory_type, memory_type_id);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_StateBufferAttributes(
    TRITONBACKEND_State* state, TRITONSERVER_BufferAttributes** buffer_attributes) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(state)) return RequestNotHeld("TRITONBACKEND_StateBufferAttributes");
    state->attributes = {state->buffer.size, MemoryTypeOf(state->buffer.kind), state->buffer.device,
                         nullptr};
    *buffer_attributes = &state->attributes;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state) noexcept {
  return Guard([&]() -> Status {
    if (!Lives(state)) return RequestNotHeld("TRITONBACKEND_StateUpdate");
    if (state->updated) return Status::InvalidArg("the state was updated before");
    // The run gets it with the final response.
    state->updated = true;
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins

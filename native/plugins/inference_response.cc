#include "plugins/inference_response.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <variant>

#include "plugins/buffer_attributes.h"
#include "plugins/error.h"
#include "plugins/functions.h"

using tritonts::Status;
using tritonts::plugins::TakeError;

TRITONSERVER_InferenceResponse::~TRITONSERVER_InferenceResponse() {
  for (const Memory& one : memory_) {
    // Nobody is left who could be told of its error.
    (void)TakeError(
        allocator_->release(allocator_, one.data, one.user, one.size, one.type, one.device));
  }
  tritonts::c_api::DeleteResponse(raw_);
}

void TRITONSERVER_InferenceResponse::Begin(const std::shared_ptr<tritonts::c_api::Model>& model,
                                           const std::string& id) {
  id_ = id;
  model_ = model;
}

void TRITONSERVER_InferenceResponse::Take(tritonts_response* response,
                                          TRITONSERVER_ResponseAllocator* allocator,
                                          void* allocator_user,
                                          TRITONSERVER_InferenceTrace* trace) noexcept {
  raw_ = response;
  allocator_ = allocator;
  status_ = response ? response->error.status : Status::NoMemory();
  if (status_.ok()) {
    try {
      status_ = CopyOutputs(allocator_user, trace);
    } catch (const std::bad_alloc&) {
      status_ = Status::NoMemory();
    }
  }
  if (raw_) tritonts::c_api::ForgetOutputs(raw_);
}

Status TRITONSERVER_InferenceResponse::CopyOutputs(void* allocator_user,
                                                   TRITONSERVER_InferenceTrace* trace) {
  // So that no memory of the allocator is lost.
  memory_.reserve(raw_->outputs.size());
  if (allocator_->start) {
    const Status status = TakeError(allocator_->start(allocator_, allocator_user));
    if (!status.ok()) return status;
  }
  for (const tritonts_response::Output& output : raw_->outputs) {
    tritonts::plugins::TraceOutput(trace, output.view);
    const Status status = CopyOutput(output.view, allocator_user);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status TRITONSERVER_InferenceResponse::CopyOutput(const tritonts_output& output,
                                                  void* allocator_user) {
  const std::string text = "model '" + model_->Text() + "', output '" + output.name + "': ";
  Memory memory;
  memory.size = output.bytes;
  if (allocator_->query) {
    size_t size = output.bytes;
    const Status status = TakeError(allocator_->query(allocator_, allocator_user, output.name,
                                                      &size, &memory.type, &memory.device));
    if (!status.ok()) return status;
    // A wish for other memory than the host's cannot be met.
    if (memory.type == TRITONSERVER_MEMORY_GPU) {
      memory.type = TRITONSERVER_MEMORY_CPU;
      memory.device = 0;
    }
  }
  const TRITONSERVER_MemoryType wanted = memory.type;
  const Status status = TakeError(allocator_->alloc(allocator_, output.name, output.bytes, wanted,
                                                    memory.device, allocator_user, &memory.data,
                                                    &memory.user, &memory.type, &memory.device));
  if (!status.ok()) return status;
  memory_.push_back(memory);
  if (allocator_->attributes) {
    TRITONSERVER_BufferAttributes attributes;
    attributes.byte_size = output.bytes;
    attributes.memory_type = memory.type;
    attributes.memory_type_id = memory.device;
    const Status told = TakeError(
        allocator_->attributes(allocator_, output.name, &attributes, allocator_user, memory.user));
    if (!told.ok()) return told;
  }
  if (output.bytes == 0) return Status::Ok();
  if (!memory.data) {
    return Status::Internal(text + "the allocator returned no memory for " +
                            std::to_string(output.bytes) + " bytes");
  }
  if (memory.type == TRITONSERVER_MEMORY_GPU) {
    return Status::Unsupported(text + "the allocator returned memory of GPU " +
                               std::to_string(memory.device) +
                               ", but outputs are written to host memory");
  }
  std::memcpy(memory.data, output.data, output.bytes);
  return Status::Ok();
}

int64_t TRITONSERVER_InferenceResponse::version() const {
  return raw_ && raw_->binding ? raw_->binding->version : -1;
}

std::span<const tritonts::RequestParameter> TRITONSERVER_InferenceResponse::parameters() const {
  if (!status_.ok() || !raw_ || !raw_->parameters) return {};
  return *raw_->parameters->all;
}

const std::vector<std::string>* TRITONSERVER_InferenceResponse::labels(size_t index) const {
  const auto known = raw_->binding->labels.find(output(index).name);
  return known == raw_->binding->labels.end() ? nullptr : &known->second;
}

namespace tritonts::plugins {

namespace {

// The status of a function that takes the index of something of which there are `count`.
Status CheckIndex(const char* what, size_t index, size_t count) {
  if (index < count) return Status::Ok();
  return Status::InvalidArg("out of bounds index " + std::to_string(index) + ", response has " +
                            std::to_string(count) + " " + what);
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(
    TRITONSERVER_InferenceResponse* inference_response) noexcept {
  delete inference_response;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(
    TRITONSERVER_InferenceResponse* inference_response) noexcept {
  return MakeError(inference_response->status());
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseModel(
    TRITONSERVER_InferenceResponse* inference_response, const char** model_name,
    int64_t* model_version) noexcept {
  *model_name = inference_response->model().key().name.c_str();
  *model_version = inference_response->version();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseId(
    TRITONSERVER_InferenceResponse* inference_response, const char** request_id) noexcept {
  *request_id = inference_response->id().c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameterCount(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t* count) noexcept {
  *count = static_cast<uint32_t>(inference_response->parameters().size());
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameter(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t index, const char** name,
    TRITONSERVER_ParameterType* type, const void** vvalue) noexcept {
  return Guard([&]() -> Status {
    const std::span<const RequestParameter> all = inference_response->parameters();
    Status status = CheckIndex("parameters", index, all.size());
    if (!status.ok()) return status;
    const RequestParameter& parameter = all[index];
    *name = parameter.name.c_str();
    if (const auto* text = std::get_if<std::string>(&parameter.value)) {
      *type = TRITONSERVER_PARAMETER_STRING;
      *vvalue = text->c_str();
    } else if (const auto* whole = std::get_if<int64_t>(&parameter.value)) {
      *type = TRITONSERVER_PARAMETER_INT;
      *vvalue = whole;
    } else if (const auto* real = std::get_if<double>(&parameter.value)) {
      *type = TRITONSERVER_PARAMETER_DOUBLE;
      *vvalue = real;
    } else {
      *type = TRITONSERVER_PARAMETER_BOOL;
      *vvalue = std::get_if<bool>(&parameter.value);
    }
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputCount(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t* count) noexcept {
  *count = static_cast<uint32_t>(inference_response->output_count());
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutput(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t index, const char** name,
    TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count, const void** base,
    size_t* byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id,
    void** userp) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckIndex("outputs", index, inference_response->output_count());
    if (!status.ok()) return status;
    const tritonts_output& output = inference_response->output(index);
    const TRITONSERVER_InferenceResponse::Memory& memory = inference_response->memory(index);
    *name = output.name;
    *datatype = static_cast<TRITONSERVER_DataType>(output.datatype);
    *shape = output.dims;
    *dim_count = output.rank;
    *base = memory.data;
    *byte_size = memory.size;
    *memory_type = memory.type;
    *memory_type_id = memory.device;
    *userp = memory.user;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputClassificationLabel(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t index, size_t class_index,
    const char** label) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckIndex("outputs", index, inference_response->output_count());
    if (!status.ok()) return status;
    const std::vector<std::string>* const labels = inference_response->labels(index);
    // As in Triton, a class without a label is no error.
    *label = labels && class_index < labels->size() ? (*labels)[class_index].c_str() : nullptr;
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins

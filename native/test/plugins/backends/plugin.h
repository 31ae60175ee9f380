// Shared by the test plug-ins: errors, the configuration, and the plain way through a request.
//
// The plug-ins know nothing of the engine but Triton's interfaces (plugins/abi/triton.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "json/json.h"
#include "plugins/abi/triton.h"

// Returns the error of a call, if it has one, from the function around it.
#define RETURN_IF_ERROR(call)                        \
  do {                                               \
    if (TRITONSERVER_Error* const error_ = (call)) { \
      return error_;                                 \
    }                                                \
  } while (false)

namespace tritonts::plugin {

using Error = TRITONSERVER_Error*;

inline Error Fail(const std::string& text,
                  TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_INTERNAL) {
  return TRITONSERVER_ErrorNew(code, text.c_str());
}

// Deletes an error that the plug-in cannot pass on, after a line in the log.
inline void Log(Error error, const char* file, int line) {
  if (!error) return;
  TRITONSERVER_Error* const unsaid =
      TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, file, line, TRITONSERVER_ErrorMessage(error));
  if (unsaid) TRITONSERVER_ErrorDelete(unsaid);
  TRITONSERVER_ErrorDelete(error);
}

#define LOG_IF_ERROR(call) ::tritonts::plugin::Log((call), __FILE__, __LINE__)

inline uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The configuration of a model, as the server has it now.
inline Error ReadConfig(TRITONBACKEND_Model* model, Json* config) {
  TRITONSERVER_Message* message = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelConfig(model, 1, &message));
  const char* base = nullptr;
  size_t size = 0;
  const Error error = TRITONSERVER_MessageSerializeToJson(message, &base, &size);
  auto parsed = error ? StatusOr<Json>(Status::Internal("")) : Json::Parse({base, size});
  LOG_IF_ERROR(TRITONSERVER_MessageDelete(message));
  if (error) return error;
  if (!parsed.ok()) return Fail("the configuration is not JSON: " + parsed.status().message());
  *config = parsed.take();
  return nullptr;
}

// A parameter of the configuration; "" if it has none of the name.
inline std::string Parameter(const Json& config, std::string_view name) {
  const std::string* const text =
      config.Member("parameters").Member(name).Member("string_value").text();
  return text ? *text : "";
}

// The names of the configured inputs or outputs.
inline std::vector<std::string> Names(const Json& config, std::string_view member) {
  std::vector<std::string> names;
  for (const Json& tensor : config.Member(member).items()) {
    const std::string* const name = tensor.Member("name").text();
    names.push_back(name ? *name : "");
  }
  return names;
}

// An input of a request, with its bytes in one piece.
struct Tensor {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<int64_t> shape;
  std::string bytes;
};

inline Error ReadInput(TRITONBACKEND_Input* input, Tensor* tensor) {
  const char* name = nullptr;
  const int64_t* shape = nullptr;
  uint32_t rank = 0;
  uint64_t size = 0;
  uint32_t buffers = 0;
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, &name, &tensor->datatype, &shape, &rank,
                                                &size, &buffers));
  tensor->name = name;
  tensor->shape.assign(shape, shape + rank);
  tensor->bytes.clear();
  for (uint32_t i = 0; i < buffers; i++) {
    const void* data = nullptr;
    uint64_t bytes = 0;
    TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
    RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &data, &bytes, &kind, &device));
    if (kind == TRITONSERVER_MEMORY_GPU) return Fail("the input is in GPU memory");
    if (bytes > 0) tensor->bytes.append(static_cast<const char*>(data), bytes);
  }
  return nullptr;
}

inline Error ReadInput(TRITONBACKEND_Request* request, const char* name, Tensor* tensor) {
  TRITONBACKEND_Input* input = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, name, &input));
  return ReadInput(input, tensor);
}

// Adds an output with these bytes to a response.
inline Error Write(TRITONBACKEND_Response* response, const char* name,
                   TRITONSERVER_DataType datatype, const std::vector<int64_t>& shape,
                   const std::string& bytes) {
  TRITONBACKEND_Output* output = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &output, name, datatype, shape.data(),
                                               static_cast<uint32_t>(shape.size())));
  void* place = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &place, bytes.size(), &kind, &device));
  if (kind == TRITONSERVER_MEMORY_GPU) return Fail("the output is in GPU memory");
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  return nullptr;
}

// Strings as the bytes of a BYTES tensor.
inline std::string Strings(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& text : strings) {
    const auto size = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += text;
  }
  return bytes;
}

template <typename T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Sends the response, which is then the server's, with the error, which is then deleted.
inline void Send(TRITONBACKEND_Response* response, uint32_t flags, Error error = nullptr) {
  LOG_IF_ERROR(TRITONBACKEND_ResponseSend(response, flags, error));
  if (error) TRITONSERVER_ErrorDelete(error);
}

inline void Release(TRITONBACKEND_Request* request,
                    uint32_t flags = TRITONSERVER_REQUEST_RELEASE_ALL) {
  LOG_IF_ERROR(TRITONBACKEND_RequestRelease(request, flags));
}

// The state of a model's or an instance's handle.
template <typename T>
T* StateOf(TRITONBACKEND_ModelInstance* instance) {
  void* state = nullptr;
  LOG_IF_ERROR(TRITONBACKEND_ModelInstanceState(instance, &state));
  return static_cast<T*>(state);
}
template <typename T>
T* StateOf(TRITONBACKEND_Model* model) {
  void* state = nullptr;
  LOG_IF_ERROR(TRITONBACKEND_ModelState(model, &state));
  return static_cast<T*>(state);
}

// The state of the model of an instance.
template <typename T>
T* ModelStateOf(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  LOG_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  return StateOf<T>(model);
}

}  // namespace tritonts::plugin

// A plug-in of Triton whose outputs are its inputs, by their positions. It is for measurements, so
// it does nothing else.
#include <cstdint>
#include <cstring>

#include "plugins/abi/triton.h"

namespace {

#define RETURN_IF_ERROR(call)                                     \
  do {                                                            \
    if (TRITONSERVER_Error* const failed = (call)) return failed; \
  } while (false)

TRITONSERVER_Error* Copy(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_RequestOutputName(request, i, &name));
    TRITONBACKEND_Input* input = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_RequestInputByIndex(request, i, &input));
    TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
    const int64_t* shape = nullptr;
    uint32_t dims = 0;
    uint64_t size = 0;
    uint32_t buffers = 0;
    RETURN_IF_ERROR(
        TRITONBACKEND_InputProperties(input, nullptr, &datatype, &shape, &dims, &size, &buffers));
    TRITONBACKEND_Output* output = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &output, name, datatype, shape, dims));
    void* target = nullptr;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &target, size, &type, &id));
    char* to = static_cast<char*>(target);
    for (uint32_t k = 0; k < buffers; k++) {
      const void* from = nullptr;
      uint64_t bytes = 0;
      RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, k, &from, &bytes, &type, &id));
      std::memcpy(to, from, bytes);
      to += bytes;
    }
  }
  return nullptr;
}

}  // namespace

extern "C" TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*,
                                                                  TRITONBACKEND_Request** requests,
                                                                  uint32_t request_count) {
  for (uint32_t i = 0; i < request_count; i++) {
    TRITONBACKEND_Response* response = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ResponseNew(&response, requests[i]));
    TRITONSERVER_Error* const error = Copy(requests[i], response);
    TRITONSERVER_ErrorDelete(
        TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
    TRITONSERVER_ErrorDelete(error);
    TRITONSERVER_ErrorDelete(
        TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL));
  }
  return nullptr;
}

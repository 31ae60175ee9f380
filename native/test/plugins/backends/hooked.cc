// A plug-in of Triton that calls a function of its test in each batch, and answers with its input.
//
// A model's parameter `stack_kib` has each batch use that much of its thread's stack.
#include <alloca.h>

#include <charconv>

#include "plugin.h"

extern "C" {
// What a batch calls; null: nothing. The test sets it while no batch runs.
__attribute__((visibility("default"))) void (*hooked_call)(void) = nullptr;
// What has the requests of a batch instead of the plug-in; null: the plug-in answers them.
__attribute__((visibility("default")))
TRITONSERVER_Error* (*hooked_execute)(TRITONBACKEND_ModelInstance* instance,
                                      TRITONBACKEND_Request** requests, uint32_t count) = nullptr;
}

namespace tritonts::plugin {

namespace {

struct ModelState {
  size_t stack_bytes = 0;
};

// Writes to each page, from the top on, as calls do.
__attribute__((noinline)) void UseStack(size_t bytes) {
  volatile char* const block = static_cast<volatile char*>(alloca(bytes + 1));
  for (size_t at = bytes + 1; at > 0; at -= at < 4096 ? at : 4096) block[at - 1] = 1;
}

Error Answer(TRITONBACKEND_Request* request) {
  Tensor x;
  RETURN_IF_ERROR(ReadInput(request, "x", &x));
  TRITONBACKEND_Response* response = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseNew(&response, request));
  const Error error = Write(response, "y", x.datatype, x.shape, x.bytes);
  Send(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error);
  return nullptr;
}

}  // namespace

}  // namespace tritonts::plugin

extern "C" {

using namespace tritonts::plugin;
using tritonts::Json;

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  Json config;
  RETURN_IF_ERROR(ReadConfig(model, &config));
  const std::string text = Parameter(config, "stack_kib");
  size_t kib = 0;
  std::from_chars(text.data(), text.data() + text.size(), kib);
  return TRITONBACKEND_ModelSetState(model, new ModelState{kib << 10});
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  delete StateOf<ModelState>(model);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       uint32_t count) {
  if (hooked_execute) return hooked_execute(instance, requests, count);
  const size_t bytes = ModelStateOf<ModelState>(instance)->stack_bytes;
  if (bytes > 0) UseStack(bytes);
  if (hooked_call) hooked_call();
  for (uint32_t i = 0; i < count; i++) {
    const Error error = Answer(requests[i]);
    if (error) return error;
    Release(requests[i]);
  }
  return nullptr;
}

}  // extern "C"

// A backend with batching of its own: a batch may have at most `most_bytes` (parameter) of input
// data. Input x (FP32, [-1]); outputs y = x, size (INT32, [1]): the requests in the batch.
//
// The parameter `fails` names a function that fails each time, by an error or, with `how` "throws",
// by an exception. The end of a batcher is logged.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "plugin.h"

using namespace tritonts::plugin;

namespace {

// Of a model. The state of its batcher is what the model says.
struct Batcher {
  uint64_t most_bytes = 0;
  std::string fails;
  bool throws = false;

  // What the function does if it is the one that fails.
  Error FailIn(const char* function) const {
    if (fails != function) return nullptr;
    if (throws) throw std::runtime_error(std::string("thrown by ") + function);
    return Fail(std::string("broken: ") + function);
  }
};

// Of a batch that is being formed.
struct Batch {
  const Batcher* batcher;
  uint64_t bytes = 0;
};

Error Answer(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response, int32_t size) {
  Tensor x;
  RETURN_IF_ERROR(ReadInput(request, "x", &x));
  RETURN_IF_ERROR(Write(response, "y", x.datatype, x.shape, x.bytes));
  return Write(response, "size", TRITONSERVER_TYPE_INT32, {1, 1}, Bytes(size));
}

// The data of a request, in bytes.
Error SizeOf(TRITONBACKEND_Request* request, uint64_t* size) {
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInputCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Input* input = nullptr;
    uint64_t bytes = 0;
    RETURN_IF_ERROR(TRITONBACKEND_RequestInputByIndex(request, i, &input));
    RETURN_IF_ERROR(
        TRITONBACKEND_InputProperties(input, nullptr, nullptr, nullptr, nullptr, &bytes, nullptr));
    *size += bytes;
  }
  return nullptr;
}

}  // namespace

Error TRITONBACKEND_ModelBatcherInitialize(TRITONBACKEND_Batcher** batcher,
                                           TRITONBACKEND_Model* model) {
  tritonts::Json config;
  RETURN_IF_ERROR(ReadConfig(model, &config));
  auto made = std::make_unique<Batcher>();
  made->most_bytes = std::strtoull(Parameter(config, "most_bytes").c_str(), nullptr, 10);
  made->fails = Parameter(config, "fails");
  made->throws = Parameter(config, "how") == "throws";
  RETURN_IF_ERROR(made->FailIn("batcher_initialize"));
  *batcher = reinterpret_cast<TRITONBACKEND_Batcher*>(made.release());
  return nullptr;
}

Error TRITONBACKEND_ModelBatcherFinalize(TRITONBACKEND_Batcher* batcher) {
  const std::unique_ptr<Batcher> ended(reinterpret_cast<Batcher*>(batcher));
  const std::string text = "a batcher of " + std::to_string(ended->most_bytes) + " bytes has ended";
  RETURN_IF_ERROR(TRITONSERVER_LogMessage(TRITONSERVER_LOG_WARN, __FILE__, __LINE__, text.c_str()));
  return ended->FailIn("batcher_finalize");
}

Error TRITONBACKEND_ModelBatchInitialize(const TRITONBACKEND_Batcher* batcher, void** userp) {
  const auto* const rules = reinterpret_cast<const Batcher*>(batcher);
  RETURN_IF_ERROR(rules->FailIn("batch_initialize"));
  *userp = new Batch{rules};
  return nullptr;
}

Error TRITONBACKEND_ModelBatchIncludeRequest(TRITONBACKEND_Request* request, void* userp,
                                             bool* should_include) {
  auto* const batch = static_cast<Batch*>(userp);
  RETURN_IF_ERROR(batch->batcher->FailIn("include"));
  uint64_t size = 0;
  RETURN_IF_ERROR(SizeOf(request, &size));
  *should_include = batch->bytes == 0 || batch->bytes + size <= batch->batcher->most_bytes;
  if (*should_include) batch->bytes += size;
  return nullptr;
}

Error TRITONBACKEND_ModelBatchFinalize(void* userp) {
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(userp));
  return batch->batcher->FailIn("batch_finalize");
}

Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*,
                                         TRITONBACKEND_Request** requests, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Response* response = nullptr;
    if (Error error = TRITONBACKEND_ResponseNew(&response, requests[i])) {
      LOG_IF_ERROR(error);
    } else {
      Send(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL,
           Answer(requests[i], response, static_cast<int32_t>(count)));
    }
    Release(requests[i]);
  }
  return nullptr;
}

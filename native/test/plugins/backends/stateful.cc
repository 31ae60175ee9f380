// A backend of sequences with implicit state: input x (INT32, [1]) is added to the state of its
// sequence, which the model has as input `sum_in` and writes as output `sum_out`. Output y (INT32,
// [1]) is the sum. Output told (BYTES, [1]): the correlation id and the flags of the request, the
// number of requests in its batch, and the outputs that all of them want.
//
// A negative x ends nothing and leaves the state as it was: the new state is made, but not updated.
//
// An x of `kCounts` stands for 1, and its request is run again, with the new state, until the sum
// is a multiple of 5. Only models with iterative_sequence can do that.
#include <cinttypes>

#include "plugin.h"

using namespace tritonts::plugin;

namespace {

constexpr int32_t kCounts = 1000;
constexpr int32_t kSpoils = 1001;

Error Number(TRITONBACKEND_Request* request, const char* name, int32_t* number) {
  Tensor tensor;
  RETURN_IF_ERROR(ReadInput(request, name, &tensor));
  if (tensor.bytes.size() != sizeof(*number)) return Fail(std::string(name) + ": not one number");
  std::memcpy(number, tensor.bytes.data(), sizeof(*number));
  return nullptr;
}

// "correlation id flags", where the id is a number or a string.
Error Told(TRITONBACKEND_Request* request, std::string* told) {
  uint32_t flags = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestFlags(request, &flags));
  uint64_t number = 0;
  const char* text = nullptr;
  Error not_number = TRITONBACKEND_RequestCorrelationId(request, &number);
  Error not_text = TRITONBACKEND_RequestCorrelationIdString(request, &text);
  if ((not_number == nullptr) == (not_text == nullptr)) {
    *told = "both or none of two kinds of ids";
  } else {
    *told = (not_number ? "'" + std::string(text) + "'" : std::to_string(number)) + " " +
            std::to_string(flags);
  }
  if (not_number) TRITONSERVER_ErrorDelete(not_number);
  if (not_text) TRITONSERVER_ErrorDelete(not_text);
  return nullptr;
}

// Appends the names of the outputs that a request wants. A null row wants none.
Error AppendWanted(TRITONBACKEND_Request* request, std::string* names) {
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_RequestOutputName(request, i, &name));
    *names += std::string(" ") + name;
  }
  return nullptr;
}

// Makes the state of a request, in a buffer of `bytes`, and has the engine keep it if `update` says
// so.
Error SetState(TRITONBACKEND_Request* request, int32_t sum, uint64_t bytes, bool update) {
  const int64_t shape[] = {1, 1};
  TRITONBACKEND_State* state = nullptr;
  RETURN_IF_ERROR(
      TRITONBACKEND_StateNew(&state, request, "sum_out", TRITONSERVER_TYPE_INT32, shape, 2));
  void* place = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  RETURN_IF_ERROR(TRITONBACKEND_StateBuffer(state, &place, bytes, &kind, &device));
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_StateBufferAttributes(state, &attributes));
  size_t size = 0;
  RETURN_IF_ERROR(TRITONSERVER_BufferAttributesByteSize(attributes, &size));
  if (size != bytes) return Fail("the state has " + std::to_string(size) + " bytes");
  std::memcpy(place, &sum, sizeof(sum));
  // Its buffer is its own: asked for again, it is the same.
  void* again = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_StateBuffer(state, &again, bytes, &kind, &device));
  if (again != place) return Fail("the state has another buffer than before");
  return update ? TRITONBACKEND_StateUpdate(state) : nullptr;
}

// Adds x to the state. `again`: the request is to be run again.
Error Add(TRITONBACKEND_Request* request, int32_t* sum, bool* again) {
  int32_t x = 0;
  RETURN_IF_ERROR(Number(request, "x", &x));
  RETURN_IF_ERROR(Number(request, "sum_in", sum));
  *sum += x == kCounts ? 1 : x;
  const uint64_t bytes = x == kSpoils ? 2 * sizeof(*sum) : sizeof(*sum);
  RETURN_IF_ERROR(SetState(request, *sum, bytes, x >= 0));
  *again = x == kSpoils || (x == kCounts && *sum % 5 != 0);
  return nullptr;
}

Error Answer(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response, int32_t sum,
             const std::string& batch) {
  std::string told;
  RETURN_IF_ERROR(Told(request, &told));
  RETURN_IF_ERROR(Write(response, "y", TRITONSERVER_TYPE_INT32, {1, 1}, Bytes(sum)));
  return Write(response, "told", TRITONSERVER_TYPE_BYTES, {1, 1}, Strings({told + batch}));
}

}  // namespace

Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*,
                                         TRITONBACKEND_Request** requests, uint32_t count) {
  std::string batch = " of " + std::to_string(count) + ":";
  for (uint32_t i = 0; i < count; i++) RETURN_IF_ERROR(AppendWanted(requests[i], &batch));
  for (uint32_t i = 0; i < count; i++) {
    int32_t sum = 0;
    bool again = false;
    Error added = Add(requests[i], &sum, &again);
    if (again) {
      Release(requests[i], TRITONSERVER_REQUEST_RELEASE_RESCHEDULE);
      continue;
    }
    TRITONBACKEND_Response* response = nullptr;
    if (Error error = TRITONBACKEND_ResponseNew(&response, requests[i])) {
      LOG_IF_ERROR(error);
      LOG_IF_ERROR(added);
    } else {
      Send(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL,
           added ? added : Answer(requests[i], response, sum, batch));
    }
    Release(requests[i]);
  }
  return nullptr;
}

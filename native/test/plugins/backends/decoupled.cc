// A backend of decoupled models: input x (INT32, [1]) says how many responses come, from a thread
// of its own, through a response factory, after the request has been released. Response i has
// output y = i.
//
// Parameters: `final`: `with` the last response, or (default) `alone`, by flags without a response;
// `pause_ms`: time between responses.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "plugin.h"

using namespace tritonts::plugin;

namespace {

// The threads of a model, which its end waits for.
struct State {
  std::string final_place;
  int pause_ms = 0;
  std::atomic<int> running{0};
};

// Sends the responses, and deletes the factory.
void Answer(State* state, TRITONBACKEND_ResponseFactory* factory, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (state->pause_ms > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(state->pause_ms));
    }
    bool cancelled = false;
    LOG_IF_ERROR(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
    if (cancelled) break;
    TRITONBACKEND_Response* response = nullptr;
    if (Error error = TRITONBACKEND_ResponseNewFromFactory(&response, factory)) {
      LOG_IF_ERROR(error);
      break;
    }
    const bool last = state->final_place == "with" && i == count - 1;
    Error error = Write(response, "y", TRITONSERVER_TYPE_INT32, {1}, Bytes(i));
    Send(response, last ? TRITONSERVER_RESPONSE_COMPLETE_FINAL : 0, error);
    if (!last) continue;
    LOG_IF_ERROR(TRITONBACKEND_ResponseFactoryDelete(factory));
    state->running--;
    return;
  }
  LOG_IF_ERROR(
      TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  LOG_IF_ERROR(TRITONBACKEND_ResponseFactoryDelete(factory));
  state->running--;
}

// Begins to answer a request. On an error the request has been answered with it.
Error Begin(State* state, TRITONBACKEND_Request* request) {
  Tensor x;
  RETURN_IF_ERROR(ReadInput(request, "x", &x));
  int32_t count = 0;
  if (x.bytes.size() != sizeof(count)) {
    return Fail("expected one number", TRITONSERVER_ERROR_INVALID_ARG);
  }
  std::memcpy(&count, x.bytes.data(), sizeof(count));
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseFactoryNew(&factory, request));
  state->running++;
  std::thread(Answer, state, factory, count).detach();
  return nullptr;
}

}  // namespace

Error TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  tritonts::Json config;
  RETURN_IF_ERROR(ReadConfig(model, &config));
  auto* const state = new State();
  state->final_place = Parameter(config, "final");
  state->pause_ms = std::atoi(Parameter(config, "pause_ms").c_str());
  return TRITONBACKEND_ModelSetState(model, state);
}

Error TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  auto* const state = StateOf<State>(model);
  while (state->running > 0) std::this_thread::yield();
  delete state;
  return nullptr;
}

Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                         TRITONBACKEND_Request** requests, uint32_t count) {
  auto* const state = ModelStateOf<State>(instance);
  for (uint32_t i = 0; i < count; i++) {
    if (Error error = Begin(state, requests[i])) {
      TRITONBACKEND_Response* response = nullptr;
      if (Error refused = TRITONBACKEND_ResponseNew(&response, requests[i])) {
        LOG_IF_ERROR(refused);
        LOG_IF_ERROR(error);
      } else {
        Send(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error);
      }
    }
    Release(requests[i]);
  }
  return nullptr;
}

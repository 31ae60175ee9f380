#include "plugins/inference_request.h"

#include <new>
#include <utility>

#include "c_api/errors.h"
#include "c_api/response.h"
#include "c_api/submit.h"
#include "engine/base/clock.h"
#include "plugins/batcher.h"
#include "plugins/buffer_attributes.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/server.h"

using tritonts::NowNs;
using tritonts::Status;
using tritonts::c_api::ApiRequest;

TRITONSERVER_InferenceRequest::TRITONSERVER_InferenceRequest(
    uint32_t server, const std::shared_ptr<tritonts::c_api::Model>& model)
    : server_(server), request_(new ApiRequest(model)) {
  request_->SetCallbacks(OnResponse, OnRelease, this);
}

Status TRITONSERVER_InferenceRequest::SetSequence() {
  return request_->SetSequence(correlation,
                               correlation_is_text ? correlation_text.c_str() : nullptr,
                               (flags & TRITONSERVER_REQUEST_FLAG_SEQUENCE_START) != 0,
                               (flags & TRITONSERVER_REQUEST_FLAG_SEQUENCE_END) != 0);
}

Status TRITONSERVER_InferenceRequest::Prepare(uint32_t server) {
  const std::string text = "model '" + request_->model()->Text() + "': ";
  if (server != server_) {
    return Status::InvalidArg(text + "the request was made for another server");
  }
  if (in_flight()) return Status::InvalidArg(text + "the request is in flight");
  if (!complete || !allocator) {
    return Status::InvalidArg(text +
                              "the request has no allocator or no response callback: call "
                              "TRITONSERVER_InferenceRequestSetResponseCallback first");
  }
  if (!release) {
    return Status::InvalidArg(text +
                              "the request has no release callback: call "
                              "TRITONSERVER_InferenceRequestSetReleaseCallback first");
  }
  if (!spare_) spare_ = std::make_unique<TRITONSERVER_InferenceResponse>();
  spare_->Begin(request_->model(), id);
  return Status::Ok();
}

Status TRITONSERVER_InferenceRequest::Submit(uint32_t server, TRITONSERVER_InferenceTrace* trace) {
  if (tritonts::plugins::FormsBatch()) {
    return tritonts::plugins::NotWhileBatching("TRITONSERVER_ServerInferAsync");
  }
  if (trace) {
    trace->model = request_->model()->key().name;
    trace->request_id = id;
  }
  if (Status status = Prepare(server); !status.ok()) return status;
  if (trace) {
    auto bound = request_->model()->Bind();
    if (bound.ok()) trace->version = bound.value()->version;
    tritonts::plugins::TraceReport(trace, TRITONSERVER_TRACE_REQUEST_START, NowNs());
    tritonts::plugins::TraceInputs(trace, *request_);
  }
  trace_ = trace;
  timed_ = false;
  lost_ = false;
  cancelled_.store(false, std::memory_order_relaxed);
  submitted_.store(true, std::memory_order_relaxed);
  in_flight_.store(true, std::memory_order_release);
  ApiRequest* const request = request_;
  size_t accepted = 0;
  // Callers of Triton's function may hold locks that their callbacks take.
  const Status status = tritonts::c_api::SubmitRequests({&request, 1}, false, &accepted);
  // If it was accepted, its callbacks may have been called, and may have deleted it.
  if (accepted > 0) return Status::Ok();
  trace_ = nullptr;
  in_flight_.store(false, std::memory_order_release);
  return status;
}

Status TRITONSERVER_InferenceRequest::Cancel() {
  if (!submitted()) {
    return Status::Internal("model '" + request_->model()->Text() +
                            "': a request cannot be cancelled before it is submitted with "
                            "TRITONSERVER_ServerInferAsync");
  }
  if (in_flight()) {
    cancelled_.store(true, std::memory_order_relaxed);
    request_->Cancel();
  }
  return Status::Ok();
}

std::unique_ptr<TRITONSERVER_InferenceResponse>
TRITONSERVER_InferenceRequest::NewResponse() noexcept {
  try {
    auto made = std::make_unique<TRITONSERVER_InferenceResponse>();
    made->Begin(request_->model(), id);
    return made;
  } catch (const std::bad_alloc&) {
    lost_ = true;
    return nullptr;
  }
}

void TRITONSERVER_InferenceRequest::OnResponse(tritonts_request*, tritonts_response* response,
                                               uint32_t flags, void* user) {
  static_cast<TRITONSERVER_InferenceRequest*>(user)->Respond(response, flags);
}

void TRITONSERVER_InferenceRequest::Respond(tritonts_response* response,
                                            uint32_t response_flags) noexcept {
  const bool is_final = (response_flags & TRITONTS_RESPONSE_FINAL) != 0;
  const bool is_lost = (response_flags & TRITONTS_RESPONSE_NO_MEMORY) != 0;
  if (response && !timed_) timed_ = tritonts::plugins::TraceTimings(trace_, *response);
  std::unique_ptr<TRITONSERVER_InferenceResponse> made;
  if (response || is_lost || lost_) {
    made = NewResponse();
    if (!made && is_final) made = std::move(spare_);
    // After a response that was lost, all that follow are errors.
    if (lost_ || !made) {
      tritonts::c_api::DeleteResponse(std::exchange(response, nullptr));
    }
    if (made) made->Take(response, allocator, allocator_user, trace_);
  }
  if (!made && !is_final) return;
  // A callback that deletes the request of a final response does so after its release. So the
  // trace ends before the response is handed over.
  if (is_final) {
    tritonts::plugins::TraceEnd(std::exchange(trace_, nullptr), NowNs());
  }
  complete(made.release(), is_final ? TRITONSERVER_RESPONSE_COMPLETE_FINAL : 0, complete_user);
}

void TRITONSERVER_InferenceRequest::OnRelease(tritonts_request*, uint32_t flags, void* user) {
  auto* const self = static_cast<TRITONSERVER_InferenceRequest*>(user);
  // A run that was abandoned may still read the inputs: the caller must not free them.
  if ((flags & TRITONTS_RELEASE_ABANDONED) != 0) return;
  self->in_flight_.store(false, std::memory_order_release);
  self->release(self, TRITONSERVER_REQUEST_RELEASE_ALL, self->release_user);
}

namespace tritonts::plugins {

namespace {

// Calls what changes a request, which must be the caller's.
template <typename Call>
TRITONSERVER_Error* Change(TRITONSERVER_InferenceRequest* request, Call&& call) noexcept {
  return Guard([&]() -> Status {
    if (!request) return Status::InvalidArg("expected a request, but received NULL");
    if (request->in_flight()) {
      return Status::InvalidArg("model '" + request->engine().model()->Text() +
                                "': the request is in flight: wait for its release");
    }
    return call(request->engine());
  });
}

// The same for what has a name, such as an input.
template <typename Call>
TRITONSERVER_Error* ChangeNamed(TRITONSERVER_InferenceRequest* request, const char* what,
                                const char* name, Call&& call) noexcept {
  return Change(request, [&](ApiRequest& engine) -> Status {
    if (name) return call(engine);
    return Status::InvalidArg("model '" + engine.model()->Text() + "': expected the name of " +
                              what + ", but received NULL");
  });
}

// Parts of GPUs' memory are not read.
Status Append(ApiRequest* request, const char* name, const void* base, size_t size,
              TRITONSERVER_MemoryType type, int64_t device) {
  if (type == TRITONSERVER_MEMORY_GPU) {
    return Status::Unsupported("model '" + request->model()->Text() + "', input '" +
                               c_api::Printable(name) + "': memory of GPU " +
                               std::to_string(device) + " is not read here: expected host memory");
  }
  return request->AppendInput(name, base, size);
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(
    TRITONSERVER_InferenceRequest** inference_request, TRITONSERVER_Server* server,
    const char* model_name, int64_t model_version) noexcept {
  return Guard([&]() -> Status {
    if (Status status = CheckModel(server, model_name, model_version); !status.ok()) return status;
    auto open = server->Open();
    if (!open.ok()) return open.status();
    auto model = open.value()->FindModel(model_name, model_version);
    if (!model.ok()) return model.status();
    // As in Triton, a request is of a model that serves. A lazy one is loaded now.
    const auto bound = open.value()->BindAwake(model.value().get());
    if (!bound.ok()) return bound.status();
    *inference_request = new TRITONSERVER_InferenceRequest(server->id(), model.value());
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(
    TRITONSERVER_InferenceRequest* inference_request) noexcept {
  if (!inference_request) return nullptr;
  return Change(inference_request, [&](ApiRequest&) {
    delete inference_request;
    return Status::Ok();
  });
}

// --- Attributes.

TRITONSERVER_Error* TRITONSERVER_InferenceRequestId(
    TRITONSERVER_InferenceRequest* inference_request, const char** id) noexcept {
  *id = inference_request->id.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetId(
    TRITONSERVER_InferenceRequest* inference_request, const char* id) noexcept {
  return Change(inference_request, [&](ApiRequest& request) {
    const std::string text = id ? id : "";
    Status status = request.SetId(text);
    if (status.ok()) inference_request->id = text;
    return status;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestFlags(
    TRITONSERVER_InferenceRequest* inference_request, uint32_t* flags) noexcept {
  *flags = inference_request->flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetFlags(
    TRITONSERVER_InferenceRequest* inference_request, uint32_t flags) noexcept {
  return Change(inference_request, [&](ApiRequest& request) -> Status {
    constexpr uint32_t known =
        TRITONSERVER_REQUEST_FLAG_SEQUENCE_START | TRITONSERVER_REQUEST_FLAG_SEQUENCE_END;
    if ((flags & ~known) != 0) {
      return Status::InvalidArg("model '" + request.model()->Text() + "': unknown flags " +
                                std::to_string(flags) + " of a request");
    }
    inference_request->flags = flags;
    return inference_request->SetSequence();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* correlation_id) noexcept {
  return Guard([&]() -> Status {
    if (inference_request->correlation_is_text) {
      return Status::InvalidArg("given request's correlation id is not an unsigned int");
    }
    *correlation_id = inference_request->correlation;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char** correlation_id) noexcept {
  return Guard([&]() -> Status {
    if (!inference_request->correlation_is_text) {
      return Status::InvalidArg("given request's correlation id is not a string");
    }
    *correlation_id = inference_request->correlation_text.c_str();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t correlation_id) noexcept {
  return Change(inference_request, [&](ApiRequest&) {
    inference_request->correlation = correlation_id;
    inference_request->correlation_text.clear();
    inference_request->correlation_is_text = false;
    return inference_request->SetSequence();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char* correlation_id) noexcept {
  return Change(inference_request, [&](ApiRequest& request) -> Status {
    const bool start = (inference_request->flags & TRITONSERVER_REQUEST_FLAG_SEQUENCE_START) != 0;
    const bool end = (inference_request->flags & TRITONSERVER_REQUEST_FLAG_SEQUENCE_END) != 0;
    std::string text = correlation_id ? correlation_id : "";
    // A text that is too long changes nothing.
    if (Status status = request.SetSequence(0, text.c_str(), start, end); !status.ok()) {
      return status;
    }
    inference_request->correlation = 0;
    inference_request->correlation_text = std::move(text);
    inference_request->correlation_is_text = true;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCancel(
    TRITONSERVER_InferenceRequest* inference_request) noexcept {
  return Guard([&] {
    if (FormsBatch()) return NotWhileBatching("TRITONSERVER_InferenceRequestCancel");
    return inference_request ? inference_request->Cancel()
                             : Status::InvalidArg("expected a request, but received NULL");
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestIsCancelled(
    TRITONSERVER_InferenceRequest* inference_request, bool* is_cancelled) noexcept {
  return Guard([&]() -> Status {
    if (!inference_request->submitted()) {
      return Status::Internal(
          "whether a request is cancelled is known only after it was submitted with "
          "TRITONSERVER_ServerInferAsync");
    }
    *is_cancelled = inference_request->cancelled();
    return Status::Ok();
  });
}

// The functions with 32 bits are older than those with 64.
TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriority(
    TRITONSERVER_InferenceRequest* inference_request, uint32_t* priority) noexcept {
  return Guard([&]() -> Status {
    if (inference_request->priority > UINT32_MAX) {
      return Status::InvalidArg("the priority " + std::to_string(inference_request->priority) +
                                " does not fit into 32 bits: call "
                                "TRITONSERVER_InferenceRequestPriorityUInt64");
    }
    *priority = static_cast<uint32_t>(inference_request->priority);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriorityUInt64(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* priority) noexcept {
  *priority = inference_request->priority;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriority(
    TRITONSERVER_InferenceRequest* inference_request, uint32_t priority) noexcept {
  return TRITONSERVER_InferenceRequestSetPriorityUInt64(inference_request, priority);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriorityUInt64(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t priority) noexcept {
  return Change(inference_request, [&](ApiRequest& request) {
    inference_request->priority = priority;
    request.SetPriority(priority);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestTimeoutMicroseconds(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* timeout_us) noexcept {
  *timeout_us = inference_request->timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t timeout_us) noexcept {
  return Change(inference_request, [&](ApiRequest& request) {
    inference_request->timeout_us = timeout_us;
    request.SetTimeout(timeout_us);
    return Status::Ok();
  });
}

// --- Inputs.

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name,
    TRITONSERVER_DataType datatype, const int64_t* shape, uint64_t dim_count) noexcept {
  return ChangeNamed(inference_request, "an input", name, [&](ApiRequest& request) -> Status {
    if (!shape && dim_count > 0) {
      return Status::InvalidArg("model '" + request.model()->Text() + "', input '" +
                                c_api::Printable(name) + "': expected a shape of " +
                                std::to_string(dim_count) + " dims, but received NULL");
    }
    if (datatype <= TRITONSERVER_TYPE_INVALID || datatype > TRITONSERVER_TYPE_BF16) {
      return Status::InvalidArg("model '" + request.model()->Text() + "', input '" +
                                c_api::Printable(name) + "': unknown datatype " +
                                std::to_string(static_cast<int>(datatype)));
    }
    return request.AddInput(name, static_cast<DataType>(datatype), {shape, dim_count});
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRawInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) noexcept {
  return ChangeNamed(inference_request, "an input", name,
                     [&](ApiRequest& request) { return request.AddRawInput(name); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) noexcept {
  return ChangeNamed(inference_request, "an input", name,
                     [&](ApiRequest& request) { return request.RemoveInput(name); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputs(
    TRITONSERVER_InferenceRequest* inference_request) noexcept {
  return Change(inference_request, [&](ApiRequest& request) {
    request.RemoveInputs();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base,
    size_t byte_size, TRITONSERVER_MemoryType memory_type, int64_t memory_type_id) noexcept {
  return ChangeNamed(inference_request, "an input", name, [&](ApiRequest& request) {
    return Append(&request, name, base, byte_size, memory_type, memory_type_id);
  });
}

// The bytes of a host policy are those of the instances that have it. All others have none.
TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void*, size_t,
    TRITONSERVER_MemoryType, int64_t, const char* host_policy_name) noexcept {
  return ChangeNamed(inference_request, "an input", name, [&](ApiRequest& request) -> Status {
    return Status::Unsupported(
        "model '" + request.model()->Text() + "', input '" + c_api::Printable(name) +
        "': bytes for the host policy '" +
        c_api::Printable(host_policy_name ? host_policy_name : "") +
        "' alone are not supported: all instances read the same bytes, which "
        "TRITONSERVER_InferenceRequestAppendInputData adds");
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base,
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  return ChangeNamed(inference_request, "an input", name, [&](ApiRequest& request) -> Status {
    if (!buffer_attributes) {
      return Status::InvalidArg("model '" + request.model()->Text() + "', input '" +
                                c_api::Printable(name) +
                                "': expected attributes of a buffer, but received NULL");
    }
    return Append(&request, name, base, buffer_attributes->byte_size,
                  buffer_attributes->memory_type, buffer_attributes->memory_type_id);
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) noexcept {
  return ChangeNamed(inference_request, "an input", name,
                     [&](ApiRequest& request) { return request.RemoveInputData(name); });
}

// --- Outputs.

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) noexcept {
  return ChangeNamed(inference_request, "an output", name, [&](ApiRequest& request) {
    // As in Triton, an output may be asked for twice.
    return request.HasOutput(name) ? Status::Ok() : request.AddOutput(name, nullptr, 0);
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) noexcept {
  return ChangeNamed(inference_request, "an output", name,
                     [&](ApiRequest& request) { return request.RemoveOutput(name); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(
    TRITONSERVER_InferenceRequest* inference_request) noexcept {
  return Change(inference_request, [&](ApiRequest& request) {
    request.RemoveOutputs();
    return Status::Ok();
  });
}

// --- Callbacks and parameters.

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(
    TRITONSERVER_InferenceRequest* inference_request,
    TRITONSERVER_InferenceRequestReleaseFn_t request_release_fn,
    void* request_release_userp) noexcept {
  return Change(inference_request, [&](ApiRequest&) {
    inference_request->release = request_release_fn;
    inference_request->release_user = request_release_userp;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(
    TRITONSERVER_InferenceRequest* inference_request,
    TRITONSERVER_ResponseAllocator* response_allocator, void* response_allocator_userp,
    TRITONSERVER_InferenceResponseCompleteFn_t response_fn, void* response_userp) noexcept {
  return Change(inference_request, [&](ApiRequest&) {
    inference_request->allocator = response_allocator;
    inference_request->allocator_user = response_allocator_userp;
    inference_request->complete = response_fn;
    inference_request->complete_user = response_userp;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetStringParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, const char* value) noexcept {
  return ChangeNamed(request, "a parameter", key, [&](ApiRequest& engine) {
    if (value) return engine.SetParameter(key, std::string(value));
    return Status::InvalidArg("model '" + engine.model()->Text() + "': expected a text for the " +
                              "parameter '" + c_api::Printable(key) + "', but received NULL");
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetIntParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, int64_t value) noexcept {
  return ChangeNamed(request, "a parameter", key,
                     [&](ApiRequest& engine) { return engine.SetParameter(key, value); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetBoolParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, bool value) noexcept {
  return ChangeNamed(request, "a parameter", key,
                     [&](ApiRequest& engine) { return engine.SetParameter(key, value); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetDoubleParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, double value) noexcept {
  return ChangeNamed(request, "a parameter", key,
                     [&](ApiRequest& engine) { return engine.SetParameter(key, value); });
}

TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(TRITONSERVER_Server* server,
                                                  TRITONSERVER_InferenceRequest* inference_request,
                                                  TRITONSERVER_InferenceTrace* trace) noexcept {
  TRITONSERVER_Error* const error = Guard([&] {
    if (!server || !inference_request) {
      return Status::InvalidArg("expected a server and a request, but received NULL");
    }
    return inference_request->Submit(server->id(), trace);
  });
  // An accepted request has the trace, and may have ended it.
  if (error) TraceEnd(trace, NowNs());
  return error;
}

}  // namespace tritonts::plugins

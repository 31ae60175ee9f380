// The functions of the table: they check arguments, and call what does the work. Handles of
// attachments and models hold references. The handle of a request is the request itself.
#include "c_api/api.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "c_api/client.h"
#include "c_api/errors.h"
#include "c_api/model.h"
#include "c_api/request.h"
#include "c_api/response.h"
#include "c_api/submit.h"

struct tritonts_server {
  std::shared_ptr<tritonts::c_api::Client> client;
};

struct tritonts_model {
  std::shared_ptr<tritonts::c_api::Model> model;
};

namespace tritonts::c_api {

namespace {

ApiRequest* Of(tritonts_request* handle) {
  return reinterpret_cast<ApiRequest*>(handle);
}

// --- Errors.

int32_t ErrorCode(const tritonts_error* error) {
  return error ? static_cast<int32_t>(error->status.code()) : 0;
}

const char* ErrorCodeName(const tritonts_error* error) {
  return error ? CodeName(error->status.code()) : "";
}

const char* ErrorReason(const tritonts_error* error) {
  return error ? ReasonName(error->status.reason()) : "";
}

const char* ErrorMessage(const tritonts_error* error) {
  return error ? error->status.message().c_str() : "";
}

void ErrorDelete(tritonts_error* error) {
  Errors::Delete(error);
}

// --- The server.

tritonts_error* Attach(uint32_t engine, uint32_t id, tritonts_server** server) {
  return Guard([&]() -> Status {
    if (!server) return WrongArgument("attach", "expected a place for the attachment, not NULL");
    *server = nullptr;
    if (engine != EngineId()) {
      return WrongArgument("attach",
                           "the handle belongs to another copy of the package in this process, "
                           "with an addon of its own: both must load the same file");
    }
    std::shared_ptr<Server> found = Server::Find(id);
    if (!found || found->closing()) {
      return Status::Unavailable(Reason::kClosed, "the server is closed");
    }
    *server = new tritonts_server{std::make_shared<Client>(std::move(found))};
    return Status::Ok();
  });
}

tritonts_error* Detach(tritonts_server* server, uint64_t timeout_ms) {
  return Guard([&]() -> Status {
    if (!server) return WrongArgument("detach", "expected an attachment, not NULL");
    Status status = server->client->Detach(timeout_ms);
    if (status.ok()) delete server;
    return status;
  });
}

tritonts_error* ListAll(tritonts_server* server, const tritonts_model_list** list) {
  return Guard([&]() -> Status {
    if (!server || !list) return WrongArgument("list_models", "an argument is NULL");
    *list = nullptr;
    if (Status open = server->client->CheckOpen(); !open.ok()) return open;
    *list = ListModels(*server->client);
    return Status::Ok();
  });
}

void ListDelete(const tritonts_model_list* list) {
  DeleteList(list);
}

// --- Models.

tritonts_error* ModelOpen(tritonts_server* server, const char* model_namespace, const char* name,
                          int64_t version, tritonts_model** model) {
  return Guard([&]() -> Status {
    if (!server || !name || !model) return WrongArgument("model_open", "an argument is NULL");
    *model = nullptr;
    if (version < -1) {
      return WrongArgument("model_open",
                           "expected a version of at least 0, or -1 for the newest, "
                           "but received " +
                               std::to_string(version));
    }
    auto key = FindModel(*server->client, model_namespace, name);
    if (!key.ok()) return key.status();
    *model = new tritonts_model{std::make_shared<Model>(server->client, key.take(), version)};
    return Status::Ok();
  });
}

void ModelDelete(tritonts_model* model) {
  delete model;
}

tritonts_error* ModelDescribe(tritonts_model* model, const tritonts_model_info** info) {
  return Guard([&]() -> Status {
    if (!model || !info) return WrongArgument("model_describe", "an argument is NULL");
    *info = nullptr;
    auto described = Describe(model->model.get());
    if (!described.ok()) return described.status();
    *info = described.value();
    return Status::Ok();
  });
}

void ModelInfoDelete(const tritonts_model_info* info) {
  DeleteInfo(info);
}

tritonts_error* ModelStatistics(tritonts_model* model, tritonts_statistics* statistics) {
  return Guard([&]() -> Status {
    if (!model || !statistics) return WrongArgument("model_statistics", "an argument is NULL");
    if (statistics->size < sizeof(statistics->size)) {
      return WrongArgument("model_statistics", "expected the size of the structure in `size`");
    }
    return ReadStatistics(model->model.get(), statistics);
  });
}

// --- Requests.

// Calls a setter of a request, which must be idle.
template <typename Call>
tritonts_error* Set(tritonts_request* request, const char* function, bool complete, Call&& call) {
  return Guard([&]() -> Status {
    if (!request || !complete) return WrongArgument(function, "an argument is NULL");
    if (!Of(request)->idle()) {
      return WrongArgument(function, "the request is in flight: wait for its release");
    }
    return call(Of(request));
  });
}

tritonts_error* RequestNew(tritonts_model* model, tritonts_request** request) {
  return Guard([&]() -> Status {
    if (request) *request = nullptr;
    if (!model || !request) return WrongArgument("request_new", "an argument is NULL");
    *request = reinterpret_cast<tritonts_request*>(new ApiRequest(model->model));
    return Status::Ok();
  });
}

tritonts_error* RequestDelete(tritonts_request* request) {
  if (!request) return nullptr;
  return Set(request, "request_delete", true, [](ApiRequest* one) {
    one->Release();
    return Status::Ok();
  });
}

tritonts_error* RequestSetCallbacks(tritonts_request* request, tritonts_response_fn response,
                                    tritonts_release_fn release, void* user) {
  return Set(request, "request_set_callbacks", true, [&](ApiRequest* one) {
    one->SetCallbacks(response, release, user);
    return Status::Ok();
  });
}

tritonts_error* RequestSetInput(tritonts_request* request, const char* name, int32_t datatype,
                                const int64_t* dims, size_t rank, const void* data, size_t bytes) {
  const bool complete = name && (dims || rank == 0);
  return Set(request, "request_set_input", complete, [&](ApiRequest* one) -> Status {
    if (datatype < TRITONTS_BOOL || datatype > TRITONTS_BF16) {
      return WrongArgument("request_set_input",
                           "expected a datatype but received " + std::to_string(datatype));
    }
    return one->SetInput(name, static_cast<DataType>(datatype), {dims, rank}, data, bytes);
  });
}

tritonts_error* RequestAppendInput(tritonts_request* request, const char* name, const void* data,
                                   size_t bytes) {
  return Set(request, "request_append_input", name,
             [&](ApiRequest* one) { return one->AppendInput(name, data, bytes); });
}

void RequestRemoveInputs(tritonts_request* request) {
  if (request && Of(request)->idle()) Of(request)->RemoveInputs();
}

tritonts_error* RequestWantOutput(tritonts_request* request, const char* name) {
  return Set(request, "request_want_output", name,
             [&](ApiRequest* one) { return one->AddOutput(name, nullptr, 0); });
}

tritonts_error* RequestSetOutput(tritonts_request* request, const char* name, void* data,
                                 size_t bytes) {
  return Set(request, "request_set_output", name && data,
             [&](ApiRequest* one) { return one->AddOutput(name, data, bytes); });
}

void RequestRemoveOutputs(tritonts_request* request) {
  if (request && Of(request)->idle()) Of(request)->RemoveOutputs();
}

tritonts_error* RequestSetId(tritonts_request* request, const char* id) {
  return Set(request, "request_set_id", id, [&](ApiRequest* one) { return one->SetId(id); });
}

tritonts_error* RequestSetPriority(tritonts_request* request, uint64_t priority) {
  return Set(request, "request_set_priority", true, [&](ApiRequest* one) {
    one->SetPriority(priority);
    return Status::Ok();
  });
}

tritonts_error* RequestSetTimeout(tritonts_request* request, uint64_t microseconds) {
  return Set(request, "request_set_timeout", true, [&](ApiRequest* one) {
    one->SetTimeout(microseconds);
    return Status::Ok();
  });
}

tritonts_error* RequestSetSequence(tritonts_request* request, uint64_t id, const char* text,
                                   uint32_t flags) {
  return Set(request, "request_set_sequence", true, [&](ApiRequest* one) -> Status {
    if ((flags & ~uint32_t{TRITONTS_SEQUENCE_START | TRITONTS_SEQUENCE_END}) != 0) {
      return WrongArgument("request_set_sequence", "unknown flags " + std::to_string(flags));
    }
    return one->SetSequence(id, text, (flags & TRITONTS_SEQUENCE_START) != 0,
                            (flags & TRITONTS_SEQUENCE_END) != 0);
  });
}

tritonts_error* RequestSetParameter(tritonts_request* request, const char* name, int32_t kind,
                                    const void* value) {
  return Set(request, "request_set_parameter", name && value, [&](ApiRequest* one) -> Status {
    switch (kind) {
      case TRITONTS_PARAMETER_STRING:
        return one->SetParameter(name, std::string(static_cast<const char*>(value)));
      case TRITONTS_PARAMETER_INT:
        return one->SetParameter(name, *static_cast<const int64_t*>(value));
      case TRITONTS_PARAMETER_BOOL:
        return one->SetParameter(name, *static_cast<const int32_t*>(value) != 0);
      case TRITONTS_PARAMETER_DOUBLE:
        return one->SetParameter(name, *static_cast<const double*>(value));
      default:
        return WrongArgument("request_set_parameter",
                             "unknown kind of parameter " + std::to_string(kind));
    }
  });
}

void RequestRemoveParameters(tritonts_request* request) {
  if (request && Of(request)->idle()) Of(request)->RemoveParameters();
}

tritonts_error* Submit(tritonts_request* const* requests, size_t count, size_t* accepted) {
  size_t taken = 0;
  return Guard([&]() -> Status {
    if (accepted) *accepted = 0;
    if (count == 0) return Status::Ok();
    if (!requests || (!accepted && count > 1)) {
      return WrongArgument("submit", "an argument is NULL");
    }
    if (std::find(requests, requests + count, nullptr) != requests + count) {
      return WrongArgument("submit", "a request is NULL");
    }
    static_assert(sizeof(tritonts_request*) == sizeof(ApiRequest*));
    const auto* const first = reinterpret_cast<ApiRequest* const*>(requests);
    Status status = SubmitRequests({first, count}, true, &taken);
    if (accepted) *accepted = taken;
    return status;
  });
}

void RequestCancel(tritonts_request* request) {
  if (request) Of(request)->Cancel();
}

// --- Responses.

const tritonts_error* ResponseError(const tritonts_response* response) {
  return !response || response->error.status.ok() ? nullptr : &response->error;
}

size_t ResponseOutputCount(const tritonts_response* response) {
  return response ? response->outputs.size() : 0;
}

const tritonts_output* ResponseOutput(const tritonts_response* response, size_t index) {
  if (!response || index >= response->outputs.size()) return nullptr;
  return &response->outputs[index].view;
}

const tritonts_output* ResponseFindOutput(const tritonts_response* response, const char* name) {
  if (!response || !name) return nullptr;
  for (const tritonts_response::Output& output : response->outputs) {
    if (std::string_view(output.view.name) == name) return &output.view;
  }
  return nullptr;
}

int64_t ResponseVersion(const tritonts_response* response) {
  return response ? response->version : -1;
}

tritonts_error* ResponseTimings(const tritonts_response* response, tritonts_timings* timings) {
  return Guard([&]() -> Status {
    if (!response || !timings) return WrongArgument("response_timings", "an argument is NULL");
    if (timings->size < sizeof(timings->size)) {
      return WrongArgument("response_timings", "expected the size of the structure in `size`");
    }
    tritonts_timings told = response->timings;
    // The caller may have been compiled with a shorter or longer structure.
    told.size = std::min(timings->size, sizeof(told));
    std::memcpy(timings, &told, told.size);
    return Status::Ok();
  });
}

void ResponseDelete(tritonts_response* response) {
  DeleteResponse(response);
}

size_t ResponseParameterCount(const tritonts_response* response) {
  return response && response->parameters ? response->parameters->views.size() : 0;
}

const tritonts_parameter* ResponseParameter(const tritonts_response* response, size_t index) {
  if (index >= ResponseParameterCount(response)) return nullptr;
  return &response->parameters->views[index].view;
}

const tritonts_parameter* ResponseFindParameter(const tritonts_response* response,
                                                const char* name) {
  if (!response || !response->parameters || !name) return nullptr;
  const auto& [all, views, names, bytes] = *response->parameters;
  const size_t position = names.Find(*all, name);
  return position < views.size() ? &views[position].view : nullptr;
}

// --- Triton's functions.

tritonts_error* TritonServer(tritonts_server* server, struct TRITONSERVER_Server** triton) {
  return Guard([&]() -> Status {
    if (!server || !triton) return WrongArgument("triton_server", "an argument is NULL");
    *triton = nullptr;
    if (Status open = server->client->CheckOpen(); !open.ok()) return open;
    auto found = TritonServerOf(server->client->server().shared_from_this());
    if (!found.ok()) return found.status();
    *triton = found.value();
    return Status::Ok();
  });
}

constexpr tritonts_api kTable = {
    TRITONTS_API_VERSION,
    sizeof(tritonts_api),
    ErrorCode,
    ErrorCodeName,
    ErrorReason,
    ErrorMessage,
    ErrorDelete,
    Attach,
    Detach,
    ListAll,
    ListDelete,
    ModelOpen,
    ModelDelete,
    ModelDescribe,
    ModelInfoDelete,
    ModelStatistics,
    RequestNew,
    RequestDelete,
    RequestSetCallbacks,
    RequestSetInput,
    RequestAppendInput,
    RequestRemoveInputs,
    RequestWantOutput,
    RequestSetOutput,
    RequestRemoveOutputs,
    RequestSetId,
    RequestSetPriority,
    RequestSetTimeout,
    RequestSetSequence,
    RequestSetParameter,
    RequestRemoveParameters,
    Submit,
    RequestCancel,
    ResponseError,
    ResponseOutputCount,
    ResponseOutput,
    ResponseFindOutput,
    ResponseVersion,
    ResponseTimings,
    ResponseDelete,
    TritonServer,
    ResponseParameterCount,
    ResponseParameter,
    ResponseFindParameter,
};

}  // namespace

const tritonts_api* Table() {
  return &kTable;
}

uint32_t EngineId() {
  static const uint32_t id = std::random_device()();
  return id;
}

}  // namespace tritonts::c_api

// A backend that breaks rules. Which one, a parameter `break` says: of the backend's configuration
// for the library's own entry points, of the model's for those of models and instances, and of a
// request for what happens to the request. Input x (FP32), outputs y = x and told (BYTES, [1]).
//
// A request without the parameter is answered by the rules. Its output `told` has the errors that
// calls of rule breakers got since the last one, a line each.
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "plugin.h"

using namespace tritonts::plugin;

namespace {

constexpr uint32_t kFinal = TRITONSERVER_RESPONSE_COMPLETE_FINAL;

std::mutex mutex;  // guards told
std::string told;

// Notes what a call of a rule breaker got.
void Tell(const char* what, Error error) {
  std::lock_guard lock(mutex);
  told += std::string(what) + ": " +
          (error ? std::string(TRITONSERVER_ErrorCodeString(error)) + ": " +
                       TRITONSERVER_ErrorMessage(error)
                 : "ok") +
          "\n";
  if (error) TRITONSERVER_ErrorDelete(error);
}

std::string TakeTold() {
  std::lock_guard lock(mutex);
  return std::exchange(told, {});
}

// The parameter `break` of a request; "" if it has none.
std::string BreakOf(TRITONBACKEND_Request* request) {
  uint32_t count = 0;
  LOG_IF_ERROR(TRITONBACKEND_RequestParameterCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* key = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_INT;
    const void* value = nullptr;
    LOG_IF_ERROR(TRITONBACKEND_RequestParameter(request, i, &key, &type, &value));
    if (key && std::string(key) == "break" && type == TRITONSERVER_PARAMETER_STRING) {
      return static_cast<const char*>(value);
    }
  }
  return "";
}

// The parameter `break` of the backend's configuration.
std::string BreakOf(TRITONBACKEND_Backend* backend) {
  TRITONSERVER_Message* message = nullptr;
  const char* base = nullptr;
  size_t size = 0;
  LOG_IF_ERROR(TRITONBACKEND_BackendConfig(backend, &message));
  LOG_IF_ERROR(TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  auto parsed = tritonts::Json::Parse({base, size});
  const std::string* const text =
      parsed.ok() ? parsed.value().Member("cmdline").Member("break").text() : nullptr;
  return text ? *text : "";
}

Error BreakOf(TRITONBACKEND_Model* model, std::string* text) {
  tritonts::Json config;
  RETURN_IF_ERROR(ReadConfig(model, &config));
  *text = Parameter(config, "break");
  return nullptr;
}

Error BrokenIf(const std::string& chosen, const char* name) {
  return chosen == name ? Fail(std::string("broken: ") + name, TRITONSERVER_ERROR_UNAVAILABLE)
                        : nullptr;
}

Error Fill(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  Tensor x;
  RETURN_IF_ERROR(ReadInput(request, "x", &x));
  return Write(response, "y", x.datatype, x.shape, x.bytes);
}

TRITONBACKEND_Response* Response(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* response = nullptr;
  Error error = TRITONBACKEND_ResponseNew(&response, request);
  if (error) Tell("ResponseNew", error);
  return error ? nullptr : response;
}

// Answers by the rules, but for the flags.
void Answer(TRITONBACKEND_Request* request, uint32_t flags = kFinal) {
  TRITONBACKEND_Response* const response = Response(request);
  if (!response) return;
  Error error = Fill(request, response);
  Error sent = TRITONBACKEND_ResponseSend(response, flags, error);
  if (error) TRITONSERVER_ErrorDelete(error);
  if (sent) Tell("ResponseSend", sent);
}

// Sends a response that has an output of this form, and tells what the calls say.
void AnswerWith(TRITONBACKEND_Request* request, const char* name, TRITONSERVER_DataType datatype,
                const std::vector<int64_t>& shape, const std::string& bytes) {
  TRITONBACKEND_Response* const response = Response(request);
  if (!response) return;
  Error error = Write(response, name, datatype, shape, bytes);
  Error sent = TRITONBACKEND_ResponseSend(response, kFinal, error);
  if (error) Tell("Write", error);
  Tell("ResponseSend", sent);
}

void AnswerAndRelease(TRITONBACKEND_Request* request, uint32_t flags = kFinal) {
  Answer(request, flags);
  Tell("RequestRelease", TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

// A response that has an output with a buffer, and is not sent.
TRITONBACKEND_Response* Other(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* const response = Response(request);
  Tensor x;
  Error error = ReadInput(request, "x", &x);
  const std::string other(x.bytes.size(), 'o');
  if (!error) error = Write(response, "y", x.datatype, x.shape, other);
  if (error) Tell("Other", error);
  return response;
}

std::atomic<bool> may_go{false};

[[noreturn]] void Hang() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

using Breaker = std::function<void(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request*)>;

// What happens to a request, by the name of the rule.
const std::map<std::string, Breaker>& Breakers() {
  static const std::map<std::string, Breaker> breakers = {
      {"two_finals",
       [](auto*, auto* request) {
         Answer(request);
         Answer(request);
         Release(request);
       }},
      {"after_final",
       [](auto*, auto* request) {
         Answer(request);
         Answer(request, 0);
         Release(request);
       }},
      {"no_final", [](auto*, auto* request) { AnswerAndRelease(request, 0); }},
      {"no_response",
       [](auto*, auto* request) {
         Tell("RequestRelease",
              TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
       }},
      {"forgotten", [](auto*, auto*) {}},
      {"unreleased", [](auto*, auto* request) { Answer(request); }},
      {"release_twice",
       [](auto*, auto* request) {
         AnswerAndRelease(request);
         Tell("RequestRelease",
              TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
       }},
      {"release_nothing",
       [](auto*, auto* request) {
         Tell("RequestRelease", TRITONBACKEND_RequestRelease(request, 0));
         Answer(request);
         Release(request);
       }},
      {"reschedule",
       [](auto*, auto* request) {
         Error error =
             TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE);
         const bool refused = error != nullptr;
         Tell("RequestRelease", error);
         if (refused) AnswerAndRelease(request);
       }},
      {"empty_final",
       [](auto*, auto* request) {
         TRITONBACKEND_ResponseFactory* factory = nullptr;
         Tell("ResponseFactoryNew", TRITONBACKEND_ResponseFactoryNew(&factory, request));
         Tell("ResponseFactorySendFlags", TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
         Tell("ResponseFactoryDelete", TRITONBACKEND_ResponseFactoryDelete(factory));
         Release(request);
       }},
      {"factory_without_final",
       [](auto*, auto* request) {
         TRITONBACKEND_ResponseFactory* factory = nullptr;
         Tell("ResponseFactoryNew", TRITONBACKEND_ResponseFactoryNew(&factory, request));
         Release(request);
         Tell("ResponseFactoryDelete", TRITONBACKEND_ResponseFactoryDelete(factory));
       }},
      {"response_deleted",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const response = Response(request);
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(response));
         Release(request);
       }},
      {"response_kept",
       [](auto*, auto* request) {
         Response(request);
         Release(request);
       }},
      {"wrong_name",
       [](auto*, auto* request) {
         AnswerWith(request, "z", TRITONSERVER_TYPE_FP32, {1, 1}, Bytes(1.0f));
         Release(request);
       }},
      {"null_name",
       [](auto*, auto* request) {
         AnswerWith(request, nullptr, TRITONSERVER_TYPE_FP32, {1, 1}, Bytes(1.0f));
         Release(request);
       }},
      {"wrong_type",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_INT64, {1, 1}, Bytes(int64_t{1}));
         Release(request);
       }},
      {"unknown_type",
       [](auto*, auto* request) {
         AnswerWith(request, "y", static_cast<TRITONSERVER_DataType>(99), {1, 1}, Bytes(1.0f));
         Release(request);
       }},
      {"wrong_batch",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {7, 1}, std::string(28, '\0'));
         Release(request);
       }},
      {"wrong_rank",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {1, 1, 1, 1}, Bytes(1.0f));
         Release(request);
       }},
      {"negative_shape",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {1, -1}, Bytes(1.0f));
         Release(request);
       }},
      {"huge_shape",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {1, int64_t{1} << 62, int64_t{1} << 62},
                    Bytes(1.0f));
         Release(request);
       }},
      {"short_buffer",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {1, 4}, Bytes(1.0f));
         Release(request);
       }},
      {"large_buffer",
       [](auto*, auto* request) {
         AnswerWith(request, "y", TRITONSERVER_TYPE_FP32, {1, 1}, std::string(400, '\0'));
         Release(request);
       }},
      {"damaged_strings",
       [](auto*, auto* request) {
         AnswerWith(request, "told", TRITONSERVER_TYPE_BYTES, {1, 1}, "\xff\xff\xff\xffx");
         Release(request);
       }},
      {"no_buffer",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const response = Response(request);
         TRITONBACKEND_Output* output = nullptr;
         const int64_t shape[] = {1, 4};
         Tell("ResponseOutput", TRITONBACKEND_ResponseOutput(response, &output, "y",
                                                             TRITONSERVER_TYPE_FP32, shape, 2));
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
         Release(request);
       }},
      {"same_output_twice",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const response = Response(request);
         Error first = Fill(request, response);
         if (first) Tell("first", first);
         Error second = Fill(request, response);
         Tell("second", second);
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
         Release(request);
       }},
      {"two_buffers",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const response = Response(request);
         TRITONBACKEND_Output* output = nullptr;
         const int64_t shape[] = {1, 1};
         Error error =
             TRITONBACKEND_ResponseOutput(response, &output, "y", TRITONSERVER_TYPE_FP32, shape, 2);
         if (error) Tell("ResponseOutput", error);
         for (int i = 0; i < 2 && output; i++) {
           void* place = nullptr;
           TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
           int64_t device = 0;
           error = TRITONBACKEND_OutputBuffer(output, &place, sizeof(float), &kind, &device);
           if (!error) std::memcpy(place, Bytes(static_cast<float>(i)).data(), sizeof(float));
           Tell("OutputBuffer", error);
         }
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
         Release(request);
       }},
      {"gpu_buffer",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const response = Response(request);
         TRITONBACKEND_Output* output = nullptr;
         const int64_t shape[] = {1, 1};
         Error error =
             TRITONBACKEND_ResponseOutput(response, &output, "y", TRITONSERVER_TYPE_FP32, shape, 2);
         if (error) Tell("ResponseOutput", error);
         void* place = nullptr;
         TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_GPU;
         int64_t device = 12'345;
         error = TRITONBACKEND_OutputBuffer(output, &place, sizeof(float), &kind, &device);
         if (!error && kind != TRITONSERVER_MEMORY_GPU) {
           std::memcpy(place, Bytes(1.0f).data(), sizeof(float));
         }
         Tell(kind == TRITONSERVER_MEMORY_GPU ? "OutputBuffer of the GPU"
                                              : "OutputBuffer of the host",
              error);
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
         Release(request);
       }},
      {"unknown_tensors",
       [](auto*, auto* request) {
         TRITONBACKEND_Input* input = nullptr;
         const char* name = nullptr;
         Tell("RequestInput", TRITONBACKEND_RequestInput(request, "nothing", &input));
         Tell("RequestInputByIndex", TRITONBACKEND_RequestInputByIndex(request, 99, &input));
         Tell("RequestInputName", TRITONBACKEND_RequestInputName(request, 99, &name));
         Tell("RequestOutputName", TRITONBACKEND_RequestOutputName(request, 99, &name));
         TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_INT;
         const void* value = nullptr;
         Tell("RequestParameter",
              TRITONBACKEND_RequestParameter(request, 99, &name, &type, &value));
         Error error = TRITONBACKEND_RequestInputByIndex(request, 0, &input);
         if (error) Tell("RequestInputByIndex", error);
         uint64_t size = 0;
         TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
         int64_t device = 0;
         Tell("InputBuffer", TRITONBACKEND_InputBuffer(input, 99, &value, &size, &kind, &device));
         TRITONBACKEND_State* state = nullptr;
         const int64_t shape[] = {1};
         Tell("StateNew",
              TRITONBACKEND_StateNew(&state, request, "nothing", TRITONSERVER_TYPE_FP32, shape, 1));
         Answer(request);
         Release(request);
       }},
      {"odd_statistics",
       [](auto* instance, auto* request) {
         Answer(request);
         Tell("ModelInstanceReportStatistics",
              TRITONBACKEND_ModelInstanceReportStatistics(instance, request, true, Now(), 0,
                                                          ~uint64_t{0}, 1));
         Tell("ModelInstanceReportBatchStatistics",
              TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, ~uint64_t{0}, 9, 7, 5, 3));
         Release(request);
       }},
      {"first_response_deleted_last",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const first = Other(request);
         Answer(request);
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(first));
         Release(request);
       }},
      {"first_response_deleted_between",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const first = Other(request);
         TRITONBACKEND_Response* const second = Response(request);
         Error error = Fill(request, second);
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(first));
         Send(second, kFinal, error);
         Release(request);
       }},
      {"first_response_deleted_by_another_thread",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const first = Other(request);
         std::thread deletes(
             [first] { Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(first)); });
         Answer(request);
         Release(request);
         deletes.join();
       }},
      {"first_response_kept_back",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const first = Other(request);
         TRITONBACKEND_Response* const second = Response(request);
         Send(second, kFinal,
              Write(second, "told", TRITONSERVER_TYPE_BYTES, {1, 1}, Strings({"second"})));
         Release(request);
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(first));
       }},
      {"response_after_send",
       [](auto*, auto* request) {
         TRITONBACKEND_Response* const first = Response(request);
         TRITONBACKEND_Response* const second = Response(request);
         Send(second, kFinal, Fill(request, second));
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(second, kFinal, nullptr));
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(second));
         TRITONBACKEND_Output* output = nullptr;
         const int64_t shape[] = {1, 1};
         Tell("ResponseOutput",
              TRITONBACKEND_ResponseOutput(second, &output, "y", TRITONSERVER_TYPE_FP32, shape, 2));
         TRITONBACKEND_ResponseFactory* factories[2] = {};
         for (auto& factory : factories) {
           Error error = TRITONBACKEND_ResponseFactoryNew(&factory, request);
           if (error) Tell("ResponseFactoryNew", error);
         }
         for (auto* const factory : factories) {
           LOG_IF_ERROR(TRITONBACKEND_ResponseFactoryDelete(factory));
         }
         Tell("ResponseFactoryDelete", TRITONBACKEND_ResponseFactoryDelete(factories[1]));
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(first));
         Release(request);
       }},
      {"nulls",
       [](auto* instance, auto* request) {
         TRITONBACKEND_Input* input = nullptr;
         TRITONBACKEND_Response* response = nullptr;
         TRITONBACKEND_State* state = nullptr;
         TRITONBACKEND_ResponseFactory* factory = nullptr;
         const int64_t shape[] = {1};
         const void* bytes = nullptr;
         void* place = nullptr;
         const int64_t* dims = nullptr;
         uint64_t size = 0;
         uint32_t count = 0;
         TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
         int64_t device = 0;
         TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
         Tell("RequestInput", TRITONBACKEND_RequestInput(request, nullptr, &input));
         Tell("RequestInput", TRITONBACKEND_RequestInput(nullptr, "x", &input));
         Tell("RequestInputCount", TRITONBACKEND_RequestInputCount(nullptr, &count));
         Tell("InputBuffer", TRITONBACKEND_InputBuffer(nullptr, 0, &bytes, &size, &kind, &device));
         Tell("OutputBuffer", TRITONBACKEND_OutputBuffer(nullptr, &place, 4, &kind, &device));
         Tell("ResponseNew", TRITONBACKEND_ResponseNew(&response, nullptr));
         Tell("ResponseNew", TRITONBACKEND_ResponseNew(nullptr, request));
         Tell("ResponseNewFromFactory", TRITONBACKEND_ResponseNewFromFactory(&response, nullptr));
         Tell("ResponseFactoryNew", TRITONBACKEND_ResponseFactoryNew(&factory, nullptr));
         Tell("ResponseSend", TRITONBACKEND_ResponseSend(nullptr, kFinal, nullptr));
         Tell("RequestRelease",
              TRITONBACKEND_RequestRelease(nullptr, TRITONSERVER_REQUEST_RELEASE_ALL));
         Tell("StateNew",
              TRITONBACKEND_StateNew(&state, request, nullptr, TRITONSERVER_TYPE_FP32, shape, 1));
         Tell("StateUpdate", TRITONBACKEND_StateUpdate(nullptr));
         Tell("ModelInstanceReportStatistics",
              TRITONBACKEND_ModelInstanceReportStatistics(instance, nullptr, true, 1, 2, 3, 4));
         Tell("ModelInstanceModel", TRITONBACKEND_ModelInstanceModel(nullptr, nullptr));
         response = Response(request);
         TRITONBACKEND_Output* output = nullptr;
         Tell("ResponseOutput", TRITONBACKEND_ResponseOutput(response, &output, "y",
                                                             TRITONSERVER_TYPE_FP32, nullptr, 2));
         Tell("InferenceResponseOutputByName", TRITONBACKEND_InferenceResponseOutputByName(
                                                   response, nullptr, &datatype, &dims, &size));
         Send(response, kFinal, Fill(request, response));
         Release(request);
         // Nothing is deleted.
         Tell("ResponseDelete", TRITONBACKEND_ResponseDelete(nullptr));
       }},
      {"stale_request",
       [](auto*, auto* request) {
         // That of an earlier batch, which has ended.
         static TRITONBACKEND_Request* before = nullptr;
         if (before) {
           uint32_t count = 0;
           Tell("RequestInputCount", TRITONBACKEND_RequestInputCount(before, &count));
           Tell("RequestRelease",
                TRITONBACKEND_RequestRelease(before, TRITONSERVER_REQUEST_RELEASE_ALL));
         }
         before = request;
         Answer(request);
         Release(request);
       }},
      {"stays",
       [](auto*, auto* request) {
         // Until a request says that it may go, on another instance.
         while (!may_go.exchange(false)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
         Answer(request);
         Release(request);
       }},
      {"go",
       [](auto*, auto* request) {
         may_go = true;
         Answer(request);
         Release(request);
       }},
      {"late",
       [](auto*, auto* request) {
         std::thread([request] {
           std::this_thread::sleep_for(std::chrono::milliseconds(50));
           AnswerAndRelease(request);
         }).detach();
       }},
      {"slow",
       [](auto*, auto* request) {
         std::this_thread::sleep_for(std::chrono::milliseconds(300));
         AnswerAndRelease(request);
       }},
      {"awaits_cancel",
       [](auto*, auto* request) {
         bool cancelled = false;
         while (!cancelled) {
           LOG_IF_ERROR(TRITONBACKEND_RequestIsCancelled(request, &cancelled));
           std::this_thread::sleep_for(std::chrono::milliseconds(1));
         }
         TRITONBACKEND_Response* const response = Response(request);
         Send(response, kFinal, Fail("seen", TRITONSERVER_ERROR_CANCELLED));
         Release(request);
       }},
      {"logs",
       [](auto*, auto* request) {
         // More than the log takes in a turn of the event loop.
         for (int i = 0; i < 3000; i++) {
           LOG_IF_ERROR(TRITONSERVER_LogMessage(TRITONSERVER_LOG_WARN, nullptr, 0,
                                                ("line " + std::to_string(i)).c_str()));
         }
         AnswerAndRelease(request);
       }},
      {"metrics",
       [](auto*, auto* request) {
         // One with values that are no numbers, and one with a name of the server's.
         for (const char* const name : {"breaker_level", "nv_inference_count"}) {
           TRITONSERVER_MetricFamily* family = nullptr;
           Error error = TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_GAUGE, name,
                                                      "Of the breaker");
           const bool made = error == nullptr;
           Tell("MetricFamilyNew", error);
           if (!made) continue;
           TRITONSERVER_Metric* metric = nullptr;
           LOG_IF_ERROR(TRITONSERVER_MetricNew(&metric, family, nullptr, 0));
           Tell("MetricSet", TRITONSERVER_MetricSet(metric, std::nan("")));
           Tell("MetricIncrement", TRITONSERVER_MetricIncrement(metric, HUGE_VAL));
         }
         Answer(request);
         Release(request);
       }},
      {"never_returns", [](auto*, auto*) { Hang(); }},
      {"throws", [](auto*, auto*) { throw std::runtime_error("thrown by a plug-in"); }},
      {"all_codes",
       [](auto*, auto* request) {
         // A code for each response that follows another one.
         static std::atomic<int> next{0};
         TRITONBACKEND_Response* const response = Response(request);
         const int code = next++ % 10 - 1;
         Send(response, kFinal,
              Fail("code " + std::to_string(code), static_cast<TRITONSERVER_Error_Code>(code)));
         Release(request);
       }},
  };
  return breakers;
}

// Answers by the rules.
void Obey(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* const response = Response(request);
  if (!response) return;
  Error error = Fill(request, response);
  if (!error) {
    error = Write(response, "told", TRITONSERVER_TYPE_BYTES, {1, 1}, Strings({TakeTold()}));
  }
  Send(response, kFinal, error);
  Release(request);
}

}  // namespace

Error TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  if (BreakOf(backend) == "initialize_hangs") Hang();
  return BrokenIf(BreakOf(backend), "initialize");
}

Error TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  if (BreakOf(backend) == "finalize_hangs") Hang();
  return BrokenIf(BreakOf(backend), "finalize");
}

Error TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend* backend,
                                        TRITONBACKEND_BackendAttribute* attributes) {
  RETURN_IF_ERROR(BrokenIf(BreakOf(backend), "attribute"));
  if (BreakOf(backend) != "odd_attribute") return nullptr;
  const uint64_t devices[] = {77};
  return TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
      attributes, TRITONSERVER_INSTANCEGROUPKIND_GPU, 3, devices, 1);
}

Error TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  std::string chosen;
  RETURN_IF_ERROR(BreakOf(model, &chosen));
  if (chosen == "list_as_config") {
    TRITONSERVER_Message* message = nullptr;
    RETURN_IF_ERROR(TRITONSERVER_MessageNewFromSerializedJson(&message, "[1]", 3));
    Error error = TRITONBACKEND_ModelSetConfig(model, 1, message);
    LOG_IF_ERROR(TRITONSERVER_MessageDelete(message));
    return error ? error : Fail("the configuration was accepted");
  }
  if (chosen == "odd_config") {
    TRITONSERVER_Message* message = nullptr;
    const std::string text = R"({"max_batch_size":-7})";
    RETURN_IF_ERROR(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()));
    Error error = TRITONBACKEND_ModelSetConfig(model, 1, message);
    LOG_IF_ERROR(TRITONSERVER_MessageDelete(message));
    return error;
  }
  if (chosen == "loads_itself") {
    const char* name = nullptr;
    TRITONSERVER_Server* server = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ModelName(model, &name));
    RETURN_IF_ERROR(TRITONBACKEND_ModelServer(model, &server));
    return TRITONSERVER_ServerLoadModel(server, name);
  }
  // Has another model loaded, and waits for that.
  constexpr std::string_view kLoad = "load ";
  if (chosen.rfind(kLoad, 0) == 0) {
    TRITONSERVER_Server* server = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ModelServer(model, &server));
    return TRITONSERVER_ServerLoadModel(server, chosen.substr(kLoad.size()).c_str());
  }
  if (chosen == "model_initialize_hangs") Hang();
  return BrokenIf(chosen, "model_initialize");
}

Error TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  std::string chosen;
  RETURN_IF_ERROR(BreakOf(model, &chosen));
  if (chosen == "model_finalize_hangs") Hang();
  return BrokenIf(chosen, "model_finalize");
}

Error TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  std::string chosen;
  RETURN_IF_ERROR(BreakOf(model, &chosen));
  if (chosen == "late_config") {
    TRITONSERVER_Message* message = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ModelConfig(model, 1, &message));
    Tell("ModelSetConfig", TRITONBACKEND_ModelSetConfig(model, 1, message));
    LOG_IF_ERROR(TRITONSERVER_MessageDelete(message));
  }
  if (chosen == "second_instance") {
    const char* name = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceName(instance, &name));
    if (std::string(name).ends_with("_1")) return Fail("broken: second_instance");
  }
  if (chosen == "instance_initialize_hangs") Hang();
  return BrokenIf(chosen, "instance_initialize");
}

Error TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  std::string chosen;
  RETURN_IF_ERROR(BreakOf(model, &chosen));
  if (chosen == "instance_finalize_hangs") Hang();
  return BrokenIf(chosen, "instance_finalize");
}

Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                         TRITONBACKEND_Request** requests, uint32_t count) {
  // An error of Execute is for all requests.
  for (uint32_t i = 0; i < count; i++) {
    if (BreakOf(requests[i]) == "execute") return Fail("broken: execute");
    if (BreakOf(requests[i]) == "execute_after_answer") {
      for (uint32_t k = 0; k < count; k++) AnswerAndRelease(requests[k]);
      return Fail("broken: execute_after_answer");
    }
    if (BreakOf(requests[i]) == "execute_after_response") {
      for (uint32_t k = 0; k < count; k++) Answer(requests[k]);
      return Fail("broken: execute_after_response");
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    const auto found = Breakers().find(BreakOf(requests[i]));
    if (found == Breakers().end()) {
      Obey(requests[i]);
    } else {
      found->second(instance, requests[i]);
    }
  }
  return nullptr;
}

// Shared by tests of Triton's in-process functions: a server with a model, and requests that record
// what their callbacks got.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "c_api_fixture.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/server.h"

namespace tritonts::test {

inline const TritonFunctions& Triton() {
  return plugins::Functions();
}

// An error as "Code: message", or "" for none. Deletes it.
inline std::string TextOf(TRITONSERVER_Error* error) {
  if (!error) return "";
  const std::string text = std::string(Triton().TRITONSERVER_ErrorCodeString(error)) + ": " +
                           Triton().TRITONSERVER_ErrorMessage(error);
  Triton().TRITONSERVER_ErrorDelete(error);
  return text;
}

#define CHECK_TRITON(call) CHECK_EQ(TextOf(call), "")

// An allocator, and what it was asked for. Thread-safe.
class TestAllocator {
 public:
  TestAllocator() {
    CHECK_TRITON(Triton().TRITONSERVER_ResponseAllocatorNew(&allocator, Alloc, Release, Start));
  }
  ~TestAllocator() { CHECK_TRITON(Triton().TRITONSERVER_ResponseAllocatorDelete(allocator)); }

  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  std::atomic<int> starts{0};
  std::atomic<int> allocations{0};
  std::atomic<int> releases{0};
  std::atomic<int> attributes{0};
  std::atomic<int> queries{0};
  // What it does instead of its work; empty: it works.
  std::string fail_start;
  std::string fail_alloc;
  bool no_memory = false;
  bool of_gpu = false;

  static TRITONSERVER_Error* Attributes(TRITONSERVER_ResponseAllocator*, const char*,
                                        TRITONSERVER_BufferAttributes* told, void* user, void*) {
    size_t size = 0;
    CHECK_TRITON(Triton().TRITONSERVER_BufferAttributesByteSize(told, &size));
    static_cast<TestAllocator*>(user)->attributes += static_cast<int>(size);
    return nullptr;
  }
  static TRITONSERVER_Error* Query(TRITONSERVER_ResponseAllocator*, void* user, const char* name,
                                   size_t* size, TRITONSERVER_MemoryType* type, int64_t* device) {
    CHECK_EQ(std::string(name), "y");
    CHECK(size != nullptr);
    static_cast<TestAllocator*>(user)->queries++;
    *type = TRITONSERVER_MEMORY_CPU_PINNED;
    *device = 3;
    return nullptr;
  }

 private:
  static TRITONSERVER_Error* Start(TRITONSERVER_ResponseAllocator*, void* user) {
    auto* const self = static_cast<TestAllocator*>(user);
    self->starts++;
    if (self->fail_start.empty()) return nullptr;
    return Triton().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, self->fail_start.c_str());
  }
  static TRITONSERVER_Error* Alloc(TRITONSERVER_ResponseAllocator*, const char*, size_t size,
                                   TRITONSERVER_MemoryType type, int64_t device, void* user,
                                   void** buffer, void** buffer_user,
                                   TRITONSERVER_MemoryType* actual_type, int64_t* actual_device) {
    auto* const self = static_cast<TestAllocator*>(user);
    if (!self->fail_alloc.empty()) {
      return Triton().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE,
                                            self->fail_alloc.c_str());
    }
    self->allocations++;
    *buffer = size > 0 && !self->no_memory ? new char[size] : nullptr;
    *buffer_user = self;
    *actual_type = self->of_gpu ? TRITONSERVER_MEMORY_GPU : type;
    *actual_device = device;
    return nullptr;
  }
  static TRITONSERVER_Error* Release(TRITONSERVER_ResponseAllocator*, void* buffer,
                                     void* buffer_user, size_t, TRITONSERVER_MemoryType, int64_t) {
    static_cast<TestAllocator*>(buffer_user)->releases++;
    delete[] static_cast<char*>(buffer);
    return nullptr;
  }
};

// A request with its answers. Owns the bytes of its inputs.
class TritonSend {
 public:
  struct Answer {
    uint32_t flags = 0;
    bool null = false;
    std::string error;
    std::string id;
    std::string parameters;  // each as ParameterText
    int64_t version = -1;
    std::vector<int64_t> dims;  // of output y
    std::string bytes;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  };

  explicit TritonSend(TRITONSERVER_Server* server, const char* model = "m", int64_t version = -1)
      : server_(server) {
    CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestNew(&request, server, model, version));
    if (!request) return;
    CHECK_TRITON(
        Triton().TRITONSERVER_InferenceRequestSetReleaseCallback(request, OnRelease, this));
    CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestSetResponseCallback(
        request, allocator.allocator, &allocator, OnResponse, this));
  }
  ~TritonSend() {
    for (TRITONSERVER_InferenceResponse* one : kept_) {
      CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseDelete(one));
    }
    if (request) CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestDelete(request));
    CHECK_EQ(allocator.allocations.load(), allocator.releases.load());
  }
  TritonSend(const TritonSend&) = delete;
  TritonSend& operator=(const TritonSend&) = delete;

  void Floats(std::vector<float> values) {
    values_ = std::move(values);
    const int64_t dims[] = {static_cast<int64_t>(values_.size()), 1};
    CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAddInput(request, "x",
                                                                TRITONSERVER_TYPE_FP32, dims, 2));
    Append(values_.data(), values_.size() * sizeof(float));
  }
  void Append(const void* data, size_t size) {
    CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAppendInputData(request, "x", data, size,
                                                                       TRITONSERVER_MEMORY_CPU, 0));
  }
  std::string Submit(TRITONSERVER_InferenceTrace* trace = nullptr) {
    return TextOf(Triton().TRITONSERVER_ServerInferAsync(server_, request, trace));
  }
  bool Released(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return releases_ >= count; });
  }
  std::vector<Answer> all() {
    std::lock_guard lock(mutex_);
    return answers_;
  }
  // The answer, once the request was released. Fails the test unless there is exactly one.
  Answer Only() {
    CHECK(Released(1));
    const std::vector<Answer> answers = all();
    CHECK_EQ(answers.size(), 1u);
    return answers.empty() ? Answer() : answers.front();
  }
  // From now on responses are kept until the end.
  void Keep() { keeps_ = true; }
  std::vector<TRITONSERVER_InferenceResponse*> kept() {
    std::lock_guard lock(mutex_);
    return kept_;
  }
  size_t releases() {
    std::lock_guard lock(mutex_);
    return releases_;
  }

  TestAllocator allocator;
  TRITONSERVER_InferenceRequest* request = nullptr;
  // Called by release callbacks first.
  std::function<void(TRITONSERVER_InferenceRequest*)> on_release;

 private:
  static void OnRelease(TRITONSERVER_InferenceRequest* request, uint32_t flags, void* user) {
    auto* const self = static_cast<TritonSend*>(user);
    CHECK_EQ(flags, uint32_t{TRITONSERVER_REQUEST_RELEASE_ALL});
    if (self->on_release) self->on_release(request);
    std::lock_guard lock(self->mutex_);
    self->releases_++;
    self->changed_.notify_all();
  }
  static void OnResponse(TRITONSERVER_InferenceResponse* response, uint32_t flags, void* user) {
    static_cast<TritonSend*>(user)->Take(response, flags);
  }
  void Take(TRITONSERVER_InferenceResponse* response, uint32_t flags) {
    Answer answer;
    answer.flags = flags;
    answer.null = response == nullptr;
    if (response) Read(response, &answer);
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    if (response && keeps_) {
      kept_.push_back(response);
    } else if (response) {
      CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseDelete(response));
    }
  }
  // A parameter as " name=value".
  static std::string ParameterText(TRITONSERVER_InferenceResponse* response, uint32_t index) {
    const char* name = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_BYTES;
    const void* value = nullptr;
    CHECK_TRITON(
        Triton().TRITONSERVER_InferenceResponseParameter(response, index, &name, &type, &value));
    const std::string text = std::string(" ") + name + "=";
    switch (type) {
      case TRITONSERVER_PARAMETER_STRING:
        return text + "'" + static_cast<const char*>(value) + "'";
      case TRITONSERVER_PARAMETER_INT:
        return text + std::to_string(*static_cast<const int64_t*>(value));
      case TRITONSERVER_PARAMETER_BOOL:
        return text + (*static_cast<const bool*>(value) ? "true" : "false");
      case TRITONSERVER_PARAMETER_DOUBLE:
        return text + std::to_string(*static_cast<const double*>(value));
      default:
        return text + "?";
    }
  }
  static void Read(TRITONSERVER_InferenceResponse* response, Answer* answer) {
    answer->error = TextOf(Triton().TRITONSERVER_InferenceResponseError(response));
    const char* text = nullptr;
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseId(response, &text));
    answer->id = text;
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseModel(response, &text, &answer->version));
    CHECK_EQ(std::string(text), "m");
    uint32_t count = 0;
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseParameterCount(response, &count));
    for (uint32_t i = 0; i < count; i++) answer->parameters += ParameterText(response, i);
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseOutputCount(response, &count));
    CHECK_EQ(count, answer->error.empty() ? 1u : 0u);
    if (count == 0) return;
    const char* name = nullptr;
    TRITONSERVER_DataType datatype;
    const int64_t* dims = nullptr;
    uint64_t rank = 0;
    const void* base = nullptr;
    size_t size = 0;
    int64_t device = 0;
    void* user = nullptr;
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseOutput(response, 0, &name, &datatype, &dims,
                                                               &rank, &base, &size, &answer->memory,
                                                               &device, &user));
    CHECK_EQ(std::string(name), "y");
    CHECK_EQ(datatype, TRITONSERVER_TYPE_FP32);
    answer->dims.assign(dims, dims + rank);
    answer->bytes.assign(static_cast<const char*>(base), size);
    CHECK(user != nullptr);
  }

  TRITONSERVER_Server* const server_;
  std::vector<float> values_;
  std::atomic<bool> keeps_{false};
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Answer> answers_;
  std::vector<TRITONSERVER_InferenceResponse*> kept_;
  size_t releases_ = 0;
};

// A server with the model m, as Triton's functions see it.
class TritonBench : public ApiBench {
 public:
  explicit TritonBench(Script script, VersionConfig config = ConfigOf(FloatIo())) {
    Serve(std::move(script), std::move(config));
    Publish({{1, uid}});
    auto found = plugins::FindServer(c_api::EngineId(), server.server().id());
    CHECK(found.ok());
    triton = found.ok() ? found.value() : nullptr;
  }
  TritonBench() { triton = plugins::ServerOf(server.shared()).take(); }

  TRITONSERVER_Server* triton = nullptr;
};

// Adds 1 to input x.
inline Script TritonAddingOne() {
  Script script;
  script.execute = [](uint32_t, Run& run) {
    const auto rows = static_cast<size_t>(run.total_batch_size());
    BlockRef block = run.pool().Acquire(std::max<size_t>(1, rows) * sizeof(float));
    auto* out = static_cast<float*>(block->data());
    for (const Request* request : run.requests()) {
      const InputTensor* input = request->input(0);
      for (size_t i = 0; i < request->chunks(*input); i++) {
        const Buffer chunk = request->chunk(*input, i);
        for (size_t j = 0; j < chunk.size / sizeof(float); j++) {
          *out++ = static_cast<const float*>(chunk.data)[j] + 1;
        }
      }
    }
    const int64_t tail[] = {1};
    run.SetOutput(0, DataType::kFp32, tail, block->data(), rows * sizeof(float), block.get());
    run.RespondAll(Status::Ok());
  };
  return script;
}

}  // namespace tritonts::test

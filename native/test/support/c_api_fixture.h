// Shared by tests of the C API: a server with published models, and requests that record what their
// callbacks got.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "c_api/api.h"
#include "server_fixture.h"

namespace tritonts::test {

inline const tritonts_api& Api() {
  return *c_api::Table();
}

// An error as "CODE/REASON: message", or "" for none. Deletes it.
inline std::string TextOf(tritonts_error* error) {
  if (!error) return "";
  const std::string reason = Api().error_reason(error);
  const std::string text = Api().error_code_name(error) + (reason.empty() ? "" : "/" + reason) +
                           ": " + Api().error_message(error);
  Api().error_delete(error);
  return text;
}

#define CHECK_API(call) CHECK_EQ(TextOf(call), "")

// What a caller got of a request. Thread-safe.
class ApiAnswers {
 public:
  struct Answer {
    uint32_t flags = 0;
    bool null = false;
    std::string error;  // as TextOf
    std::map<std::string, std::pair<std::vector<int64_t>, std::string>> outputs;
    std::vector<std::string> parameters;  // the names
    int64_t version = -1;
  };

  ~ApiAnswers() {
    for (tritonts_response* response : kept_) Api().response_delete(response);
  }

  static void OnResponse(tritonts_request*, tritonts_response* response, uint32_t flags,
                         void* user) {
    static_cast<ApiAnswers*>(user)->Take(response, flags);
  }
  static void OnRelease(tritonts_request* request, uint32_t flags, void* user) {
    auto* const answers = static_cast<ApiAnswers*>(user);
    if (answers->on_release) answers->on_release(request);
    std::lock_guard lock(answers->mutex_);
    answers->releases_++;
    answers->more_ += (flags & TRITONTS_RELEASE_MORE) != 0 ? 1 : 0;
    answers->abandoned_ += (flags & TRITONTS_RELEASE_ABANDONED) != 0 ? 1 : 0;
    answers->changed_.notify_all();
  }

  // Waits for this many releases. False on timeout.
  bool Released(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return releases_ >= count; });
  }
  bool Answered(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return answers_.size() >= count; });
  }
  size_t releases() {
    std::lock_guard lock(mutex_);
    return releases_;
  }
  // How many releases said that another one follows.
  size_t more() {
    std::lock_guard lock(mutex_);
    return more_;
  }
  size_t abandoned() {
    std::lock_guard lock(mutex_);
    return abandoned_;
  }
  std::vector<Answer> all() {
    std::lock_guard lock(mutex_);
    return answers_;
  }
  // The answer, once it was released. Fails the test unless there is exactly one of each.
  Answer Only() {
    CHECK(Released(1));
    const std::vector<Answer> answers = all();
    CHECK_EQ(answers.size(), 1u);
    CHECK_EQ(releases(), 1u);
    return answers.empty() ? Answer() : answers.front();
  }
  // From now on responses are kept, and not deleted.
  void Keep() { keeps_ = true; }
  std::vector<tritonts_response*> kept() {
    std::lock_guard lock(mutex_);
    return kept_;
  }
  std::vector<tritonts_response*> TakeKept() {
    std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }

  // Called by response callbacks first.
  std::function<void()> on_response;
  // Called by release callbacks first.
  std::function<void(tritonts_request*)> on_release;

 private:
  void Take(tritonts_response* response, uint32_t flags) {
    if (on_response) on_response();
    Answer answer;
    answer.flags = flags;
    answer.null = response == nullptr;
    if (const tritonts_error* error = Api().response_error(response)) {
      answer.error = std::string(Api().error_code_name(error)) + ": " + Api().error_message(error);
    }
    answer.version = Api().response_version(response);
    for (size_t i = 0; i < Api().response_output_count(response); i++) {
      const tritonts_output& output = *Api().response_output(response, i);
      answer.outputs[output.name] = {
          std::vector<int64_t>(output.dims, output.dims + output.rank),
          std::string(static_cast<const char*>(output.data), output.bytes)};
    }
    for (size_t i = 0; i < Api().response_parameter_count(response); i++) {
      const tritonts_parameter* const one = Api().response_parameter(response, i);
      answer.parameters.push_back(one->name);
      CHECK(Api().response_find_parameter(response, one->name) == one);
    }
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    if (keeps_) {
      kept_.push_back(response);
    } else {
      Api().response_delete(response);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Answer> answers_;
  std::vector<tritonts_response*> kept_;
  size_t releases_ = 0;
  size_t abandoned_ = 0;
  size_t more_ = 0;
  std::atomic<bool> keeps_{false};
};

// A request with its answers. Owns the bytes of its inputs.
class ApiSend {
 public:
  explicit ApiSend(tritonts_model* model) {
    CHECK_API(Api().request_new(model, &request_));
    CHECK_API(Api().request_set_callbacks(request_, ApiAnswers::OnResponse, ApiAnswers::OnRelease,
                                          answers_.get()));
  }
  // A request with these floats, one a row, as input x.
  ApiSend(tritonts_model* model, std::vector<float> values) : ApiSend(model) {
    Floats(std::move(values));
  }
  ~ApiSend() {
    if (request_) CHECK_API(Api().request_delete(request_));
  }
  ApiSend(const ApiSend&) = delete;
  ApiSend& operator=(const ApiSend&) = delete;

  void Floats(std::vector<float> values) {
    values_ = std::move(values);
    const int64_t dims[] = {static_cast<int64_t>(values_.size()), 1};
    CHECK_API(Api().request_set_input(request_, "x", TRITONTS_FP32, dims, 2, values_.data(),
                                      values_.size() * sizeof(float)));
  }
  // Returns the error as TextOf.
  std::string Submit() {
    size_t accepted = 0;
    const std::string error = TextOf(Api().submit(&request_, 1, &accepted));
    CHECK_EQ(accepted, error.empty() ? 1u : 0u);
    return error;
  }
  tritonts_request* request() { return request_; }
  ApiAnswers& answers() { return *answers_; }
  // The caller deletes the request.
  void Leave() { request_ = nullptr; }

 private:
  tritonts_request* request_ = nullptr;
  std::unique_ptr<ApiAnswers> answers_ = std::make_unique<ApiAnswers>();
  std::vector<float> values_;
};

// A server with the model m, and an attachment.
class ApiBench {
 public:
  explicit ApiBench(uint64_t most_bytes = uint64_t{1} << 30) : server(most_bytes) {}
  ~ApiBench() {
    if (model) Api().model_delete(model);
    if (attachment) CHECK_API(Api().detach(attachment, kDetachMs));
  }

  // Serves a version of m.
  uint32_t Serve(Script script, VersionConfig config) {
    backends.push_back(std::make_unique<ScriptedBackend>(std::move(script)));
    uid = server.Serve(backends.back().get(), std::move(config));
    return uid;
  }
  // Publishes ready versions of m: numbers and uids.
  void Publish(const std::vector<std::pair<int64_t, uint32_t>>& versions) {
    std::string json = R"({"state":"","reason":"","versions":[)";
    for (const auto& [number, version_uid] : versions) {
      json += (json.back() == '[' ? "" : ",") + std::string(R"({"version":)") +
              std::to_string(number) + R"(,"state":"READY","reason":"","descriptor":{"uid":)" +
              std::to_string(version_uid) + R"(,"takesIds":false}})";
    }
    server.server().Publish({"", "m"}, json + "]}");
  }
  void Attach() { CHECK_API(Api().attach(c_api::EngineId(), server.server().id(), &attachment)); }
  // Serves, publishes, attaches and opens m.
  void Open(Script script, VersionConfig config) {
    Serve(std::move(script), std::move(config));
    Publish({{1, uid}});
    Attach();
    CHECK_API(Api().model_open(attachment, nullptr, "m", -1, &model));
  }
  void OpenRuns(VersionConfig config) { Open(ScriptOf(runs), std::move(config)); }
  std::string Detach(uint64_t timeout_ms = kDetachMs) {
    const std::string error = TextOf(Api().detach(attachment, timeout_ms));
    if (error.empty()) attachment = nullptr;
    return error;
  }

  static constexpr uint64_t kDetachMs = 60'000;

  std::shared_ptr<Runs> runs = std::make_shared<Runs>();
  std::vector<std::unique_ptr<ScriptedBackend>> backends;
  ServerBench server;
  tritonts_server* attachment = nullptr;
  tritonts_model* model = nullptr;
  uint32_t uid = 0;
};

}  // namespace tritonts::test

// Shared by tests of the engine: waiting, a sink that records responses, requests, and a backend
// whose runs are scripted by a test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/backend.h"
#include "engine/base/clock.h"

namespace tritonts::test {

// The longest wait of a test. Sanitizers on a busy machine are slow.
constexpr auto kPatience = std::chrono::seconds(60);

// Waits until `condition` holds. Returns false on timeout.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// An event that happens once.
class Event {
 public:
  void Set() {
    std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  // Returns false on timeout.
  bool Wait(std::chrono::nanoseconds most = kPatience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return set_; });
  }
  bool set() {
    std::lock_guard lock(mutex_);
    return set_;
  }

 private:
  std::mutex mutex_;  // guards set_
  std::condition_variable changed_;
  bool set_ = false;
};

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A response as the sink received it.
// Parameters as a text, such as "n=5 s='x' b=true d=0.5".
inline std::string TextOf(const ResponseParameters& parameters) {
  std::string text;
  if (!parameters) return text;
  for (const RequestParameter& one : *parameters) {
    text += (text.empty() ? "" : " ") + one.name + "=";
    if (const auto* string = std::get_if<std::string>(&one.value)) {
      text += "'" + *string + "'";
    } else if (const auto* whole = std::get_if<int64_t>(&one.value)) {
      text += std::to_string(*whole);
    } else if (const auto* real = std::get_if<double>(&one.value)) {
      text += std::to_string(*real);
    } else {
      text += std::get<bool>(one.value) ? "true" : "false";
    }
  }
  return text;
}

struct SeenResponse {
  struct Output {
    std::vector<int64_t> shape;
    std::string bytes;
  };
  uint32_t slot = 0;
  Status status;
  std::map<uint32_t, Output> outputs;
  std::string parameters;  // TextOf
  bool ran = false;
  bool final = true;
  bool abandoned = false;
  bool unserved = false;
  BatchTimings timings;
};

// Records responses in the order of their delivery. Thread-safe.
class RecordingSink final : public ResponseSink {
 public:
  void Deliver(std::span<const Response> responses) override {
    std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      SeenResponse seen;
      seen.slot = response.request->header->slot;
      seen.status = response.status;
      seen.parameters = TextOf(response.parameters);
      seen.ran = response.timings != nullptr;
      seen.final = response.final;
      seen.abandoned = response.abandoned;
      seen.unserved = response.unserved;
      if (response.timings) seen.timings = *response.timings;
      for (const OutputTensor& output : response.outputs) {
        SeenResponse::Output& copy = seen.outputs[output.index];
        if (output.batch >= 0) copy.shape.push_back(output.batch);
        copy.shape.insert(copy.shape.end(), output.tail.begin(), output.tail.end());
        copy.bytes.assign(static_cast<const char*>(output.data), output.size);
      }
      responses_.push_back(std::move(seen));
      if (response.final && !response.abandoned) {
        response.request->set_state(Request::State::kIdle);
      }
    }
    changed_.notify_all();
  }

  // Waits until there are `count` responses in total. Returns false on timeout.
  bool Wait(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return responses_.size() >= count; });
  }
  std::vector<SeenResponse> responses() {
    std::lock_guard lock(mutex_);
    return responses_;
  }
  // The responses to `slot`, in order.
  std::vector<SeenResponse> AllOf(uint32_t slot) {
    std::vector<SeenResponse> found;
    for (SeenResponse& response : responses()) {
      if (response.slot == slot) found.push_back(std::move(response));
    }
    return found;
  }
  // The response to `slot`. Fails the test unless there is exactly one.
  SeenResponse Of(uint32_t slot) {
    const std::vector<SeenResponse> found = AllOf(slot);
    CHECK_EQ(found.size(), 1u);
    return found.empty() ? SeenResponse() : found.front();
  }

 private:
  std::mutex mutex_;  // guards responses_
  std::condition_variable changed_;
  std::vector<SeenResponse> responses_;
};

// Creates requests. Owns them and the bytes of their inputs.
class Requests {
 public:
  explicit Requests(ResponseSink* sink = nullptr) : sink_(sink) {}

  // Adds a request of `rows` rows without inputs. Slots count from 0.
  Request* Add(uint32_t rows = 1) {
    headers_.emplace_back();
    requests_.emplace_back();
    Request* request = &requests_.back();
    request->header = &headers_.back();
    request->header->sink = sink_;
    request->header->slot = static_cast<uint32_t>(requests_.size() - 1);
    request->header->batch_size = rows;
    request->header->arrival_ns = NowNs();
    return request;
  }
  // Gives a request an input of one chunk.
  void Input(Request* request, uint32_t index, DataType datatype, std::vector<int64_t> shape,
             const std::string& bytes) {
    // Each input has separate memory: the buffers of two std::strings might happen to be adjacent.
    memory_.push_back(std::make_unique<char[]>(bytes.size() + 1));
    std::memcpy(memory_.back().get(), bytes.data(), bytes.size());
    Place(request, index, datatype, std::move(shape), memory_.back().get(), bytes.size());
  }
  // Adds an input to a request. The caller owns its bytes.
  void Place(Request* request, uint32_t index, DataType datatype, std::vector<int64_t> shape,
             void* data, size_t size) {
    InputTensor& input = request->header->AddInput();
    input.index = index;
    input.datatype = datatype;
    input.shape = std::move(shape);
    input.first_chunks.push_back({data, size, MemoryKind::kHost, 0, {}});
  }
  // Adds a request with the rows `values`, for a model with one float per row.
  Request* Floats(const std::vector<float>& values) {
    Request* request = Add(static_cast<uint32_t>(values.size()));
    Input(request, 0, DataType::kFp32, {static_cast<int64_t>(values.size()), 1}, BytesOf(values));
    return request;
  }

 private:
  ResponseSink* const sink_;
  std::deque<RequestHeader> headers_;
  std::deque<Request> requests_;
  std::deque<std::unique_ptr<char[]>> memory_;
};

// A backend whose steps are functions of the test. Unset steps succeed and do nothing.
struct Script {
  std::function<Status(const ModelSpec&)> load;
  std::function<Status(const InstanceSpec&)> create;
  std::function<void(uint32_t instance, Run&)> execute;
  std::function<void(uint32_t instance)> terminate;
  std::function<void()> destroyed;  // when the model is destroyed
  std::function<void()> info;       // when Model::Info is called
  bool asynchronous = false;
  bool starts_at_once = false;
  bool time_depends_on_data = false;
  bool may_run_again = false;
};

class ScriptedModel final : public Model {
 public:
  explicit ScriptedModel(std::shared_ptr<const Script> script) : script_(std::move(script)) {}
  ~ScriptedModel() override {
    if (script_->destroyed) script_->destroyed();
  }
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo&, std::string_view) override { return Status::Ok(); }
  bool starts_at_once() const override { return script_->starts_at_once; }
  bool time_depends_on_data() const override { return script_->time_depends_on_data; }
  bool may_run_again() const override { return script_->may_run_again; }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    if (script_->create) {
      Status status = script_->create(spec);
      if (!status.ok()) return status;
    }
    return std::unique_ptr<Instance>(new Scripted(script_, spec.index));
  }
  std::map<std::string, std::string> Info() const override {
    if (script_->info) script_->info();
    return {{"runtime", "script"}};
  }

 private:
  class Scripted final : public Instance {
   public:
    Scripted(std::shared_ptr<const Script> script, uint32_t index)
        : script_(std::move(script)), index_(index) {}
    bool asynchronous() const override { return script_->asynchronous; }
    void Execute(Run& run) override {
      if (script_->execute) {
        script_->execute(index_, run);
      } else {
        run.RespondAll(Status::Ok());
      }
    }
    void Terminate() override {
      if (script_->terminate) script_->terminate(index_);
    }

   private:
    const std::shared_ptr<const Script> script_;
    const uint32_t index_;
  };
  const std::shared_ptr<const Script> script_;
};

class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(Script script) : script_(std::make_shared<Script>(std::move(script))) {}
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    if (script_->load) {
      Status status = script_->load(spec);
      if (!status.ok()) return status;
    }
    return std::unique_ptr<Model>(new ScriptedModel(script_));
  }
  bool may_run_on_js_thread() const override { return true; }

 private:
  const std::shared_ptr<const Script> script_;
};

// A model with one float per row as input 0 and output 0.
inline ModelIo FloatIo(uint32_t max_batch_size = 8) {
  return {max_batch_size,
          {{"x", DataType::kFp32, {-1, 1}, false}},
          {{"y", DataType::kFp32, {-1, 1}, false}}};
}

}  // namespace tritonts::test

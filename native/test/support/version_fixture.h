// Shared by tests of a model version with a scripted backend.
#pragma once

#include <atomic>

#include "backends/identity/identity.h"
#include "engine/base/abandon.h"
#include "engine/version/model_version.h"
#include "engine_fixture.h"

namespace tritonts::test {

// The gate and the records of a version's scripted runs. Shared with the backend, because an
// abandoned run may outlive its test.
class Runs {
 public:
  // Stands for a null row in a batch.
  static constexpr uint32_t kNullRow = ~0u;

  // For Script::execute: records the batch, waits while the gate is shut, and returns input 0.
  void Execute(uint32_t instance, Run& run) {
    {
      std::unique_lock lock(mutex_);
      std::vector<uint32_t> slots;
      for (const Request* request : run.requests()) {
        slots.push_back(request->header->null_row ? kNullRow : request->header->slot);
      }
      started_.push_back({instance, slots, std::this_thread::get_id()});
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
    }
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const InputTensor* input = run.requests()[i]->input(0);
      if (!input) continue;
      const Buffer chunk = run.requests()[i]->chunk(*input);
      run.SetRequestOutput(i, 0, input->datatype, input->shape, chunk.data, chunk.size, nullptr);
    }
    run.RespondAll(Status::Ok());
    std::lock_guard lock(mutex_);
    returned_++;
    changed_.notify_all();
  }
  void Shut() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Waits until this many runs have started. Returns false on timeout.
  bool Started(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return started_.size() >= count; });
  }
  bool Returned(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return returned_ >= count; });
  }

  struct Batch {
    uint32_t instance;
    std::vector<uint32_t> slots;
    std::thread::id thread;
  };
  std::vector<Batch> runs() {
    std::lock_guard lock(mutex_);
    return started_;
  }
  // The slots of each run, in the order in which the runs started.
  std::vector<std::vector<uint32_t>> batches() {
    std::vector<std::vector<uint32_t>> batches;
    for (const Batch& run : runs()) batches.push_back(run.slots);
    return batches;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool open_ = true;
  size_t returned_ = 0;
  std::vector<Batch> started_;
};

// A backend whose runs call `runs`.
inline Script ScriptOf(const std::shared_ptr<Runs>& runs) {
  Script script;
  script.execute = [runs](uint32_t instance, Run& run) { runs->Execute(instance, run); };
  return script;
}

inline VersionConfig ConfigOf(const ModelIo& io, uint32_t instances = 1,
                              DynamicPolicy policy = {}) {
  VersionConfig config;
  config.io = io;
  config.policy = std::move(policy);
  for (uint32_t i = 0; i < instances; i++) {
    config.instances.push_back({"m_" + std::to_string(i), i, MemoryKind::kHost, 0});
  }
  return config;
}

using Batches = std::vector<std::vector<uint32_t>>;

inline DynamicPolicy Dynamic(uint32_t most, std::vector<uint32_t> preferred = {},
                             uint64_t delay_ns = 0) {
  return {most, std::move(preferred), delay_ns};
}

// A version with a scripted backend.
class VersionBench {
 public:
  VersionBench(std::unique_ptr<Backend> backend, const ModelSpec& spec)
      : backend_(std::move(backend)) {
    CHECK(timer_.Start());
    auto model = backend_->Load(spec);
    CHECK(model.ok());
    version_ = std::make_shared<ModelVersion>(7, "m", 3, backend_.get(), model.take(), &timer_,
                                              [this] { drained++; });
  }
  explicit VersionBench(Script script)
      : VersionBench(std::make_unique<ScriptedBackend>(std::move(script)), {}) {}
  // Starts the version.
  VersionBench(Script script, VersionConfig config) : VersionBench(std::move(script)) {
    CHECK(version_->Start(std::move(config)).ok());
  }
  ~VersionBench() {
    if (over()) return;
    version_->Close();
    CHECK(Eventually([this] { return version_->drained(); }));
    version_->Destroy();
  }
  // Whether the test has ended or abandoned the version itself.
  bool over() const { return abandoned_ || destroyed_; }
  // Destroys the drained version before the bench ends.
  void Destroy() {
    destroyed_ = true;
    version_->Destroy();
  }

  // Submits requests; with an inline time, as on a JS thread.
  void Submit(const std::vector<Request*>& chosen, InlineTime* inline_time = nullptr) {
    const uint64_t now = NowNs();
    for (Request* request : chosen) {
      request->header->executor = version_.get();
      request->header->arrival_ns = now;
      version_->SetQueueKeys(request->header);
      request->set_state(Request::State::kSubmitted);
    }
    version_->Submit(chosen, now, inline_time);
  }
  // Submits a request with these rows.
  Request* Send(const std::vector<float>& values) {
    Request* request = requests.Floats(values);
    Submit({request});
    return request;
  }
  void Cancel(Request* request) {
    Request* const one[] = {request};
    version_->Cancel(one);
  }
  void Abandon() {
    abandoned_ = true;
    tritonts::Abandon(version_);
    version_->Abandon();
  }
  ModelVersion& version() { return *version_; }

  std::atomic<int> drained{0};
  RecordingSink sink;
  Requests requests{&sink};

 private:
  std::unique_ptr<Backend> backend_;
  Timer timer_;
  std::shared_ptr<ModelVersion> version_;
  bool abandoned_ = false;
  bool destroyed_ = false;
};

// Runs whose gate is shut initially.
struct ShutRuns {
  ShutRuns() { runs->Shut(); }
  const std::shared_ptr<Runs> runs = std::make_shared<Runs>();
};

// A version whose runs wait until the test opens their gate. An instance runs the request in slot
// 0.
class BusyVersion : public ShutRuns, public VersionBench {
 public:
  explicit BusyVersion(VersionConfig config) : VersionBench(ScriptOf(runs), std::move(config)) {
    first = Send({0});
    CHECK(runs->Started(1));
  }

  Request* first = nullptr;
};

}  // namespace tritonts::test

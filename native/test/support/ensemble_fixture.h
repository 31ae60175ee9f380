// An ensemble of scripted versions, for tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/ensemble/ensemble.h"
#include "handed_runs.h"
#include "version_fixture.h"

namespace tritonts::test {

using Mappings = std::vector<EnsembleStep::Mapping>;

// A step for a model with one float per row.
inline EnsembleStep StepOf(std::string model, uint32_t from, uint32_t to) {
  return {std::move(model), {{"x", from}}, {{"y", to}}};
}

// A chain of steps: tensor 0, 1, 2, …
inline EnsemblePlan ChainOf(size_t steps, uint32_t max_batch_size = 8) {
  EnsemblePlan plan;
  plan.io = FloatIo(max_batch_size);
  plan.tensors = static_cast<uint32_t>(steps + 1);
  plan.outputs = {static_cast<uint32_t>(steps)};
  for (uint32_t i = 0; i < steps; i++) plan.steps.push_back(StepOf("m", i, i + 1));
  return plan;
}

// Responds to all requests at once with the rows of input 0 plus `add`, in blocks.
inline void AddTo(Run& run, float add) {
  const auto rows = static_cast<int64_t>(run.total_batch_size());
  const int64_t tail[] = {1};
  BlockRef block = run.pool().Acquire(static_cast<size_t>(rows) * sizeof(float));
  auto* out = static_cast<float*>(block->data());
  for (const Request* request : run.requests()) {
    const InputTensor* input = request->input(0);
    const Buffer chunk = request->chunk(*input);
    for (size_t i = 0; i < chunk.size / sizeof(float); i++) {
      *out++ = static_cast<const float*>(chunk.data)[i] + add;
    }
  }
  run.SetOutput(0, DataType::kFp32, tail, block->data(), static_cast<size_t>(rows) * sizeof(float),
                block.get());
  run.RespondAll(Status::Ok());
}

inline Script Adding(float add) {
  Script script;
  script.execute = [add](uint32_t, Run& run) { AddTo(run, add); };
  return script;
}

// A version that the test starts and ends.
class StepVersion {
 public:
  StepVersion(Script script, VersionConfig config, Timer* timer)
      : backend_(std::make_unique<ScriptedBackend>(std::move(script))) {
    auto model = backend_->Load({});
    version_ =
        std::make_shared<ModelVersion>(1, "m", 1, backend_.get(), model.take(), timer, [] {});
    CHECK(version_->Start(std::move(config)).ok());
  }
  ~StepVersion() {
    version_->Close();
    CHECK(Eventually([this] { return version_->drained(); }));
    // A sender may have its response a moment before.
    CHECK(Eventually([this] { return !version_->used(); }));
    version_->Destroy();
  }
  const std::shared_ptr<ModelVersion>& version() { return version_; }

 private:
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<ModelVersion> version_;
};

class EnsembleBench {
 public:
  explicit EnsembleBench(EnsemblePlan plan, std::vector<std::pair<Script, VersionConfig>> steps) {
    CHECK(timer_.Start());
    ensemble_ = std::make_shared<Ensemble>(9, "e", std::move(plan), [this] { drained++; });
    for (auto& [script, config] : steps) {
      steps_.push_back(
          std::make_unique<StepVersion>(std::move(script), std::move(config), &timer_));
    }
    Bind();
  }
  ~EnsembleBench() {
    ensemble_->Close();
    CHECK(Eventually([this] { return ensemble_->drained(); }));
    ensemble_->Destroy();
    steps_.clear();
    CHECK(drained >= 1);
  }
  void Bind() {
    std::vector<std::shared_ptr<Served>> versions;
    for (const auto& step : steps_) versions.push_back(step->version());
    CHECK(ensemble_->Bind(std::move(versions)).ok());
  }
  void Submit(const std::vector<Request*>& chosen, InlineTime* inline_time = nullptr) {
    const uint64_t now = NowNs();
    for (Request* request : chosen) {
      request->header->executor = ensemble_.get();
      request->header->arrival_ns = now;
      ensemble_->SetQueueKeys(request->header);
      request->Prepare();
    }
    ensemble_->Submit(chosen, now, inline_time);
  }
  Request* Send(const std::vector<float>& values) {
    Request* request = requests.Floats(values);
    Submit({request});
    return request;
  }
  void Cancel(Request* request) {
    Request* const one[] = {request};
    ensemble_->Cancel(one);
  }
  Ensemble& ensemble() { return *ensemble_; }
  ModelVersion& step(size_t number) { return *steps_[number]->version(); }

  std::atomic<int> drained{0};
  RecordingSink sink;
  Requests requests{&sink};

 private:
  Timer timer_;
  std::vector<std::unique_ptr<StepVersion>> steps_;
  std::shared_ptr<Ensemble> ensemble_;
};

// Requests that share a header, like a port's group. Each has one float.
struct Group {
  Group(ResponseSink* sink, std::vector<float> floats) : values(std::move(floats)) {
    header.sink = sink;
    header.requests = static_cast<uint32_t>(values.size());
    InputTensor& input = header.AddInput();
    input.datatype = DataType::kFp32;
    input.shape = std::vector<int64_t>{1, 1};
    input.first_chunks.push_back({values.data(), sizeof(float), MemoryKind::kHost, 0, {}});
    requests = std::make_unique<Request[]>(values.size());
    for (uint32_t i = 0; i < values.size(); i++) {
      requests[i].header = &header;
      requests[i].position = i;
    }
  }
  std::vector<Request*> all() {
    std::vector<Request*> list;
    for (size_t i = 0; i < values.size(); i++) list.push_back(&requests[i]);
    return list;
  }
  std::vector<float> values;
  RequestHeader header;
  std::unique_ptr<Request[]> requests;
};

// The floats of a response's output 0.
inline std::vector<float> FloatsOf(const SeenResponse& response, uint32_t output = 0) {
  const auto found = response.outputs.find(output);
  if (found == response.outputs.end()) return {};
  std::vector<float> values(found->second.bytes.size() / sizeof(float));
  std::memcpy(values.data(), found->second.bytes.data(), found->second.bytes.size());
  return values;
}

}  // namespace tritonts::test

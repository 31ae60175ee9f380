// Ensembles whose steps are plans on fake GPUs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/identity/identity.h"
#include "device/cuda.h"
#include "device/gpu.h"
#include "ensemble_fixture.h"
#include "gpu_work.h"

namespace tritonts::test {

// Longer than any test waits for a full batch.
inline constexpr uint64_t kLong = 3'600'000'000'000;

struct ChainStep {
  std::string plan;  // "": the identity on the CPU
  std::vector<int> devices = {0};
  DynamicPolicy policy = Dynamic(8);
  std::map<std::string, std::string> settings = {};
  std::optional<ModelIo> io = {};  // absent: rows of four numbers
  // Uses a model of another backend instead, on these devices. The backend must outlive the chain.
  Backend* backend = nullptr;
  ModelSpec spec = {};
};

// A chain of steps with rows of four numbers: tensor 0, 1, 2, …
inline EnsemblePlan RowChain(size_t steps, uint32_t most = 8) {
  EnsemblePlan plan = ChainOf(steps, most);
  plan.io = Io(most);
  return plan;
}

// Requests that share a header, like a port's group. Each has one row.
struct RowGroup {
  RowGroup(ResponseSink* sink, const std::vector<float>& firsts) {
    header.sink = sink;
    header.requests = static_cast<uint32_t>(firsts.size());
    for (const float first : firsts)
      for (const float value : Row(first)) values.push_back(value);
    InputTensor& input = header.AddInput();
    input.datatype = DataType::kFp32;
    input.shape = std::vector<int64_t>{1, 4};
    input.first_chunks.push_back({values.data(), 4 * sizeof(float), MemoryKind::kHost, 0, {}});
    requests = std::make_unique<Request[]>(firsts.size());
    for (uint32_t i = 0; i < firsts.size(); i++) {
      requests[i].header = &header;
      requests[i].position = i;
    }
  }
  std::vector<Request*> all() {
    std::vector<Request*> list;
    for (uint32_t i = 0; i < header.requests; i++) list.push_back(&requests[i]);
    return list;
  }
  std::vector<float> values;
  RequestHeader header;
  std::unique_ptr<Request[]> requests;
};

// Counts of copies: to devices, from them, and within one.
struct Copies {
  int64_t up = CallsOf("cuMemcpyHtoDAsync_v2");
  int64_t down = CallsOf("cuMemcpyDtoHAsync_v2");
  int64_t across = CallsOf("cuMemcpyDtoDAsync_v2");
  // The counts since this object was created.
  std::vector<int64_t> Since() const {
    const Copies now;
    return {now.up - up, now.down - down, now.across - across};
  }
};

class GpuChain {
 public:
  explicit GpuChain(const std::vector<ChainStep>& steps)
      : GpuChain(steps, RowChain(steps.size())) {}
  GpuChain(const std::vector<ChainStep>& steps, EnsemblePlan plan) {
    CHECK(timer_.Start());
    const uint32_t most = plan.io.max_batch_size;
    ensemble_ = std::make_shared<Ensemble>(9, "e", std::move(plan), [] {});
    for (const ChainStep& step : steps) Add(step, most);
    CHECK(ensemble_->Bind({versions_.begin(), versions_.end()}).ok());
  }
  ~GpuChain() {
    ensemble_->Close();
    CHECK(Eventually([this] { return ensemble_->drained(); }));
    ensemble_->Destroy();
    for (size_t i = 0; i < versions_.size(); i++) {
      if (i == destroyed_) continue;
      const auto& version = versions_[i];
      version->Close();
      CHECK(Eventually([&] { return version->drained() && !version->used(); }));
      version->Destroy();
    }
  }

  void Submit(const std::vector<Request*>& chosen) { Submit(*ensemble_, chosen); }
  // Submits rows that begin with these numbers, to the ensemble or to a single step.
  Request* Ask(const std::vector<float>& firsts, std::vector<uint32_t> wanted = {}) {
    Request* const request = MakeRows(&requests, firsts);
    request->header->wanted = std::move(wanted);
    Submit({request});
    return request;
  }
  void AskStep(size_t number, const std::vector<float>& firsts) {
    Submit(*versions_[number], {MakeRows(&requests, firsts)});
  }
  void Cancel(Request* request) {
    Request* const one[] = {request};
    ensemble_->Cancel(one);
  }
  // Tells the fixture that the test has destroyed the version.
  void NoteDestroyed(size_t number) { destroyed_ = number; }
  ModelVersion& step(size_t number) { return *versions_[number]; }
  // Whether a request was answered with rows that begin with these numbers.
  bool Answered(uint32_t slot, const std::vector<float>& firsts, uint32_t output = 0) {
    const SeenResponse seen = sink.Of(slot);
    CHECK_EQ(seen.status.message(), "");
    std::vector<float> values;
    for (const float first : firsts)
      for (const float value : Row(first)) values.push_back(value);
    // Each step adds to all numbers of a row.
    return FloatsOf(seen, output) == values;
  }

  RecordingSink sink;
  Requests requests{&sink};

 private:
  void Add(const ChainStep& step, uint32_t most) {
    ModelSpec spec;
    const ModelIo io = step.io.value_or(Io(most));
    VersionConfig config = ConfigOf(io, 1, step.policy);
    if (step.backend) {
      spec = step.spec;
    } else if (step.plan.empty()) {
      backends_.push_back(std::make_unique<IdentityBackend>());
    } else {
      std::string listed;
      for (const int device : step.devices) {
        if (listed.find(std::to_string(device)) == std::string::npos)
          listed += (listed.empty() ? "" : ",") + std::to_string(device);
      }
      backends_.push_back(std::make_unique<TensorRtBackend>());
      spec = PlanSpec(step.plan, listed, "10", step.settings);
    }
    if (step.backend || !step.plan.empty()) {
      config = OnGpus(step.devices, io);
      config.policy = step.policy;
    }
    Backend* const backend = step.backend ? step.backend : backends_.back().get();
    auto model = backend->Load(spec);
    CHECK_EQ(model.status().message(), "");
    versions_.push_back(
        std::make_shared<ModelVersion>(1, "m", 1, backend, model.take(), &timer_, [] {}));
    CHECK_EQ(versions_.back()->Start(std::move(config)).message(), "");
  }
  void Submit(Executor& executor, const std::vector<Request*>& chosen) {
    const uint64_t now = NowNs();
    for (Request* request : chosen) {
      request->header->executor = &executor;
      request->header->arrival_ns = now;
      executor.SetQueueKeys(request->header);
      request->Prepare();
    }
    executor.Submit(chosen, now);
  }

  Timer timer_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<std::shared_ptr<ModelVersion>> versions_;
  std::shared_ptr<Ensemble> ensemble_;
  size_t destroyed_ = ~size_t{0};
};

// The bytes of GPU 0's pool that tensors use.
inline uint64_t UsedBytes() {
  return device::Gpu::DeviceCounts(0).used_bytes;
}

}  // namespace tritonts::test

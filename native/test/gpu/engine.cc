// An instance of the engine whose model is the kernel, under load with many rows.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "backends/gpu/gpu_instance.h"
#include "bench.h"
#include "engine/base/clock.h"
#include "engine/base/timer.h"
#include "engine/version/model_version.h"

namespace tritonts::test {

namespace {

using device::Gpu;

class KernelInstance final : public GpuInstance {
 public:
  KernelInstance(std::shared_ptr<Gpu> gpu, std::shared_ptr<const GpuModel> model)
      : GpuInstance(std::move(gpu), std::move(model)) {
    const Gpu::Current current(this->gpu());
    kernel_ = std::make_unique<AddOne>(this->gpu());
    Expect(PrepareLanes());
  }
  ~KernelInstance() override {
    const Gpu::Current current(gpu());
    kernel_.reset();
  }

 private:
  Status Shape(Batch& batch) override { return SetShape(batch, 0, batch.inputs[0].gathered.shape); }
  bool ReadsOnDevice(uint32_t) const override { return true; }
  Status Launch(Batch& batch, device::cuda::Stream stream) override {
    return kernel_->Launch(stream, batch.outputs[0].address(), batch.inputs[0].address(),
                           batch.outputs[0].bytes / sizeof(float));
  }
  std::unique_ptr<AddOne> kernel_;
};

class KernelModel final : public Model {
 public:
  KernelModel(std::shared_ptr<Gpu> gpu, uint32_t lanes) : gpu_(std::move(gpu)), lanes_(lanes) {}
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo& io, std::string_view) override {
    model_->name = "kernel";
    model_->batching = true;
    model_->inputs = io.inputs;
    model_->outputs = io.outputs;
    model_->max_concurrency = lanes_;
    return Status::Ok();
  }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
    return std::unique_ptr<Instance>(std::make_unique<KernelInstance>(gpu_, model_));
  }

 private:
  const std::shared_ptr<Gpu> gpu_;
  const uint32_t lanes_;
  const std::shared_ptr<GpuModel> model_ = std::make_shared<GpuModel>();
};

class KernelBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec&) override {
    return Status::Unsupported("models are made by the program");
  }
  bool may_run_on_js_thread() const override { return false; }
};

// Collects answered requests until they are submitted again.
class Answers final : public ResponseSink {
 public:
  void Deliver(std::span<const Response> responses) override {
    const std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      if (!response.status.ok()) fault_ = response.status;
      for (const OutputTensor& output : response.outputs) {
        const auto* const numbers = static_cast<const float*>(output.data);
        if (numbers[0] != 2 || numbers[output.size / sizeof(float) - 1] != 2) wrong_++;
        // Copy the output, like a caller that keeps it.
        std::memcpy(kept_[response.request->header->slot].data(), numbers, output.size);
      }
      response.request->set_state(Request::State::kIdle);
      ready_.push_back(response.request);
    }
    changed_.notify_one();
  }
  // Waits for at least one answered request, and returns all.
  void Take(std::vector<Request*>* requests) {
    requests->clear();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    requests->swap(ready_);
  }
  void Keep(size_t requests, size_t floats) { kept_.assign(requests, std::vector<float>(floats)); }
  void Check() {
    const std::lock_guard lock(mutex_);
    Expect(fault_);
    Expect(wrong_ == 0, "the engine's answers are wrong");
  }

 private:
  std::mutex mutex_;  // guards all
  std::condition_variable changed_;
  std::vector<Request*> ready_;
  std::vector<std::vector<float>> kept_;
  Status fault_;
  size_t wrong_ = 0;
};

}  // namespace

Measured RunEngine(const std::shared_ptr<Gpu>& gpu, const Load& load, double seconds) {
  KernelBackend backend;
  Timer timer;
  Expect(timer.Start(), "there is no thread for the timer");
  Answers answers;
  answers.Keep(load.outstanding, load.floats);
  std::vector<std::vector<float>> inputs(load.outstanding, std::vector<float>(load.floats, 1));
  std::deque<RequestHeader> headers(load.outstanding);
  std::deque<Request> requests(load.outstanding);
  auto version = std::make_shared<ModelVersion>(
      1, "kernel", 1, &backend, std::make_unique<KernelModel>(gpu, load.lanes), &timer, [] {});
  VersionConfig config;
  const std::vector<int64_t> dims{-1, static_cast<int64_t>(load.floats)};
  config.io = {load.most, {{"x", DataType::kFp32, dims}}, {{"y", DataType::kFp32, dims}}};
  config.policy.max_batch_size = load.most;
  config.instances.push_back({"kernel_0", 0, MemoryKind::kDevice, gpu->id()});
  Expect(version->Start(std::move(config)));
  std::vector<Request*> chosen;
  for (uint32_t i = 0; i < load.outstanding; i++) {
    RequestHeader& header = headers[i];
    requests[i].header = &header;
    header.sink = &answers;
    header.slot = i;
    header.batch_size = 1;
    header.executor = version.get();
    InputTensor& input = header.AddInput();
    input.index = 0;
    input.datatype = DataType::kFp32;
    input.shape = {1, static_cast<int64_t>(load.floats)};
    input.first_chunks.push_back(
        {inputs[i].data(), load.floats * sizeof(float), MemoryKind::kHost, 0, {}});
    chosen.push_back(&requests[i]);
  }
  uint64_t rows = 0;
  size_t under_way = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double took = 0;
  while (true) {
    if (passed() < seconds) {
      const uint64_t now = NowNs();
      for (Request* const request : chosen) {
        request->header->arrival_ns = now;
        version->SetQueueKeys(request->header);
        request->set_state(Request::State::kSubmitted);
      }
      under_way += chosen.size();
      version->Submit(chosen, now, nullptr);
    } else if (took == 0) {
      took = passed();
    }
    if (under_way == 0) break;
    answers.Take(&chosen);
    under_way -= chosen.size();
    if (took == 0) rows += chosen.size();
  }
  const double batches = static_cast<double>(version->statistics().execution_count);
  version->Close();
  while (!version->drained()) std::this_thread::yield();
  version->Destroy();
  answers.Check();
  return {static_cast<double>(rows) / took, batches / took};
}

}  // namespace tritonts::test

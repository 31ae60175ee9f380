// Versions with instances on several GPUs, one of which is lost. GPUs, driver and runtimes are the
// fakes of test/fakes.
#include <algorithm>

#include "device/cuda.h"
#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint32_t kWaiting = 6;

std::vector<float> EightRows() {
  std::vector<float> values(32, 1);
  return values;
}

// Submits a full batch, which gets 32 times 2.
void AskFully(VersionBench& bench) {
  Request* const request = bench.requests.Add(8);
  bench.requests.Input(request, 0, DataType::kFp32, {8, 4}, BytesOf(EightRows()));
  bench.Submit({request});
}

struct Outcomes {
  uint32_t answered = 0;
  uint32_t failed = 0;  // with UNAVAILABLE and the driver's text
};
Outcomes OutcomesOf(VersionBench& bench, uint32_t count) {
  Outcomes outcomes;
  for (uint32_t i = 0; i < count; i++) {
    const SeenResponse seen = bench.sink.Of(i);
    if (seen.status.ok()) {
      outcomes.answered++;
      CHECK(seen.outputs.at(0).bytes == BytesOf(std::vector<float>(32, 2)));
    } else {
      outcomes.failed++;
      CHECK_EQ(seen.status.code(), Code::kUnavailable);
      CHECK(Contains(seen.status, "model 'm': the GPU is lost for this process"));
      CHECK(Contains(seen.status, "CUDA_ERROR_LAUNCH_FAILED"));
    }
  }
  return outcomes;
}

// Loses GPU 0 while each of two instances, on GPUs 0 and 1, has two batches under way and others
// wait. The batches on GPU 0 fail, the others succeed.
void CheckOthersGoOn(VersionBench& bench) {
  const uint32_t count = 4 + kWaiting;
  HeldWork kernels(GpuWork::kKernels);
  const int64_t copied = DoneOf(GpuWork::kUp);
  for (uint32_t i = 0; i < count; i++) AskFully(bench);
  CHECK(Eventually([&] { return DoneOf(GpuWork::kUp) == copied + 4; }));
  LoseGpu(0);
  CHECK(bench.sink.Wait(2));
  kernels.Release();
  CHECK(bench.sink.Wait(count));
  const Outcomes outcomes = OutcomesOf(bench, count);
  CHECK_EQ(outcomes.failed, 2u);
  CHECK_EQ(outcomes.answered, 2 + kWaiting);
  // The idle instance on GPU 0 gets no batches.
  for (uint32_t i = 0; i < kWaiting; i++) {
    AskFully(bench);
    CHECK(bench.sink.Wait(count + i + 1));
  }
  CHECK_EQ(OutcomesOf(bench, count + kWaiting).failed, 2u);
}

// Without instances, requests fail with the reason.
void CheckNoneIsLeft(VersionBench& bench) {
  const auto before = static_cast<uint32_t>(bench.sink.responses().size());
  LoseGpu(1);
  for (uint32_t i = 0; i < 4; i++) AskFully(bench);
  CHECK(bench.sink.Wait(before + 4));
  for (uint32_t i = before; i < before + 4; i++) {
    CHECK_EQ(bench.sink.Of(i).status.code(), Code::kUnavailable);
    CHECK(Contains(bench.sink.Of(i).status, "the GPU is lost for this process: GPU "));
  }
}

}  // namespace

TEST(gpu_that_is_lost_leaves_the_batches_of_a_plan_to_its_other_instances) {
  {
    PlanBench bench(PlanSpec(PlanText(), "0,1"), {0, 1});
    CheckOthersGoOn(bench);
    CheckNoneIsLeft(bench);
  }
  CHECK(Objects() == kNone);
}

RUNTIME_TEST_FROM(23, gpu_that_is_lost_leaves_the_batches_of_an_onnx_model_to_its_other_instances) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, PlusOne(), Io(), {{"devices", "0,1"}}, {0, 1});
    CheckOthersGoOn(bench);
    CheckNoneIsLeft(bench);
  }
  CHECK_EQ(runtime.ReleaseLeft(), 2);
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST(gpu_that_is_lost_leaves_its_batches_to_the_processor) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    VersionBench bench(std::make_unique<OnnxOnGpus>(),
                       OnnxSpec(runtime, PlusOne(), {{"devices", "0,-1"}}));
    VersionConfig config = OnGpus({0}, Io());
    config.instances.push_back({"m_1", 1, MemoryKind::kHost, 0});
    CHECK_EQ(bench.version().Start(std::move(config)).message(), "");
    LoseGpu(0);
    // At most the requests that reveal the loss fail.
    for (uint32_t i = 0; i < 20; i++) {
      AskFully(bench);
      CHECK(bench.sink.Wait(i + 1));
    }
    CHECK(OutcomesOf(bench, 20).failed <= 1);
  }
  CHECK_EQ(runtime.ReleaseLeft(), 1);
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

// Strings are in host memory, and these instances have threads.
RUNTIME_TEST(gpu_that_is_lost_leaves_strings_to_the_other_instances) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, Identity(kOnnxString, 2), IdentityIo(DataType::kBytes, 2),
                    {{"devices", "0,1"}}, {0, 1});
    const auto ask = [&] {
      Request* const request = bench.requests.Add();
      bench.requests.Input(request, 0, DataType::kBytes, {1, 2}, Strings({"a", "bcd"}));
      bench.Submit({request});
    };
    LoseGpu(0);
    {
      const ScopedVariable error("TRITONTS_FAKE_ORT_RUN_ERROR", "CUBLAS failure 13");
      ask();
      CHECK(bench.sink.Wait(1));
    }
    CHECK_EQ(bench.sink.Of(0).status.code(), Code::kUnavailable);
    CHECK(Contains(bench.sink.Of(0).status, "the GPU is lost for this process: GPU 0: "));
    for (uint32_t i = 1; i < 10; i++) {
      ask();
      CHECK(bench.sink.Wait(i + 1));
      CHECK_EQ(bench.sink.Of(i).status.message(), "");
    }
    const BatchHistory history = bench.version().batches();
    CHECK_EQ(history.records.size(), 10u);
    // The batch that failed answers before it ends, so it may be noted after another one.
    const auto failed = std::count_if(history.records.begin(), history.records.end(),
                                      [](const BatchRecord& batch) { return batch.instance == 0; });
    CHECK_EQ(failed, 1);
  }
  CHECK_EQ(runtime.ReleaseLeft(), 1);
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

// Libraries above the driver keep the context for the life of the process.
TEST(gpu_that_is_lost_refuses_models_while_somebody_else_has_its_context) {
  const auto& call = device::FindCudaDevices().driver->call();
  device::cuda::Device device = 0;
  device::cuda::Context context = nullptr;
  CHECK_EQ(call.DeviceGet(&device, 0), 0);
  CHECK_EQ(call.DevicePrimaryCtxRetain(&context, device), 0);
  {
    PlanBench bench;
    LoseGpu(0);
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
  }
  for (int i = 0; i < 2; i++) {
    auto model = TensorRtBackend().Load(PlanSpec(PlanText()));
    Status status = model.status();
    if (status.ok()) status = model.value()->Configure(Io(), "{}");
    if (status.ok())
      status = model.value()->CreateInstance({"m_0", 0, MemoryKind::kDevice, 0}).status();
    CHECK(Contains(status, "CUDA_ERROR_LAUNCH_FAILED"));
  }
  CHECK_EQ(call.DevicePrimaryCtxRelease(device), 0);
  CHECK(Objects() == kNone);
  PlanBench bench;
  bench.Ask({1});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answered(0, 1));
}

}  // namespace tritonts::test

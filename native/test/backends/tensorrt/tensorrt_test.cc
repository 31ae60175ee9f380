// Plans on GPUs: responses, refusals, failures, and that no object is left. Driver, GPUs and
// TensorRT are the fakes of test/fakes.
#include "device/cuda.h"
#include "device/gpu.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

Status LoadStatus(const std::string& plan) {
  return TensorRtBackend().Load(PlanSpec(plan)).status();
}

Status ConfigureStatus(const ModelIo& io) {
  auto model = TensorRtBackend().Load(PlanSpec(PlanText()));
  CHECK(model.ok());
  return model.value()->Configure(io, "{}");
}

}  // namespace

TEST(tensorrt_answers_many_requests_in_batches_through_pinned_and_device_memory) {
  const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", "200");
  {
    PlanBench bench(PlanText(), {0, 0, 1}, "0,1");
    for (int i = 0; i < 200; i++) bench.Ask({static_cast<float>(i)});
    CHECK(bench.sink.Wait(200));
    for (uint32_t i = 0; i < 200; i++) {
      CHECK_EQ(bench.StatusOf(i).message(), "");
      CHECK(bench.Answered(i, static_cast<float>(i)));
    }
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_takes_rows_of_several_shapes_one_after_the_other) {
  PlanBench bench;
  bench.Ask({1, 2, 3});
  bench.Ask({4, 5, 6, 7, 8, 9, 10, 11});
  bench.Ask({12});
  CHECK(bench.sink.Wait(3));
  for (const auto& [slot, rows] : {std::pair{0u, 3}, std::pair{1u, 8}, std::pair{2u, 1}}) {
    const SeenResponse seen = bench.sink.Of(slot);
    CHECK(seen.status.ok());
    CHECK(seen.outputs.at(0).shape == (std::vector<int64_t>{rows, 4}));
  }
  CHECK(bench.Answered(2, 12));
}

TEST(tensorrt_leaves_no_object_of_the_driver_or_of_itself) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kCycles = 100;  // each creates ten threads, which takes long there
#else
  constexpr int kCycles = 1000;
#endif
  for (int i = 0; i < kCycles; i++) {
    PlanBench bench;
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_describes_the_plan) {
  auto model = TensorRtBackend().Load(PlanSpec(PlanText()));
  CHECK(model.ok());
  const ModelDescription told = model.value()->Describe();
  CHECK_EQ(told.inputs.size(), 1u);
  CHECK_EQ(told.inputs[0].name, "x");
  CHECK(told.inputs[0].datatype == DataType::kFp32);
  CHECK(told.inputs[0].dims == (std::vector<int64_t>{-1, 4}));
  CHECK_EQ(told.outputs[0].name, "y");
  CHECK_EQ(model.value()->Info().at("version"), "10.0.1");
}

TEST(tensorrt_refuses_plans_that_it_cannot_run) {
  const Status none = LoadStatus("no plan at all");
  CHECK_EQ(none.code(), Code::kInvalidArg);
  CHECK(Contains(none, "can't read the plan"));
  CHECK(Contains(none, "magicTag"));
  CHECK(Objects() == kNone);
}

TEST(tensorrt_refuses_configurations_that_are_not_the_plan_s) {
  const Status type = ConfigureStatus(Io(8, DataType::kInt32));
  CHECK_EQ(type.message(), "input 'x' is configured as INT32, but the plan has float32");
  const Status rows = ConfigureStatus(Io(9));
  CHECK(Contains(rows,
                 "max_batch_size is 9, but the profiles of the plan that the instances use "
                 "take at most 8 rows"));
  ModelIo renamed = Io();
  renamed.outputs[0].name = "z";
  CHECK_EQ(ConfigureStatus(renamed).message(), "the plan has no output 'z'");
  ModelIo fewer = Io();
  fewer.outputs.clear();
  CHECK_EQ(ConfigureStatus(fewer).message(), "the plan's output 'y' is not configured");
}

TEST(tensorrt_names_the_shapes_that_a_profile_takes) {
  VersionBench bench(std::make_unique<TensorRtBackend>(), PlanSpec(PlanText()));
  CHECK(bench.version().Start(OnGpus({0}, Io(0))).ok());
  Request* const request = bench.requests.Add(1);
  bench.requests.Input(request, 0, DataType::kFp32, {9, 4}, std::string(9 * 16, '\0'));
  bench.Submit({request});
  CHECK(bench.sink.Wait(1));
  const Status status = bench.sink.Of(0).status;
  CHECK_EQ(status.code(), Code::kInvalidArg);
  CHECK_EQ(status.message(),
           "model 'm': input 'x': the batch has shape [9,4], but profile 0 of the plan takes [1,4] "
           "to [8,4]");
}

TEST(tensorrt_tells_why_a_batch_was_not_enqueued) {
  PlanBench failing(PlanText("fail"));
  failing.Ask({1});
  CHECK(failing.sink.Wait(1));
  CHECK(Contains(failing.StatusOf(0), "can't enqueue the batch: this plan always fails"));
}

// Whichever driver call fails, its batch fails with the driver's text, and the next one succeeds.
TEST(tensorrt_survives_the_failure_of_each_call_of_the_driver) {
  // The number of calls is that of a batch that is alone.
  for (const auto& [function, calls] :
       {std::pair("cuMemcpyHtoDAsync_v2", 1), std::pair("cuMemcpyDtoHAsync_v2", 1),
        std::pair("cuEventRecord", 3), std::pair("cuStreamWaitEvent", 0),
        std::pair("cuLaunchHostFunc", 1), std::pair("fakeCudaLaunch", 1)}) {
    for (const uint32_t beside : {0U, 1U}) {
      if (beside == 0 && calls == 0) continue;
      PlanBench bench;
      HeldWork kernels(GpuWork::kKernels);
      const int fails = beside > 0 ? calls : 0;
      const int64_t called = CallsOf(function);
      FailOnce(function, 2, fails);
      if (beside > 0) bench.Ask({0});
      bench.Ask({1});
      CHECK(Eventually([&, name = function] { return CallsOf(name) > called + fails; }));
      kernels.Release();
      CHECK(bench.sink.Wait(beside + 1));
      const Status status = bench.StatusOf(beside);
      CHECK(!status.ok());
      if (function != std::string("fakeCudaLaunch"))
        CHECK(Contains(status, "CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)"));
      bench.Ask({2});
      CHECK(bench.sink.Wait(beside + 2));
      CHECK(bench.Answered(beside + 1, 2));
      if (beside > 0) CHECK(bench.Answered(0, 0));
    }
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_fails_to_load_without_leaving_anything) {
  for (const char* function :
       {"cuDevicePrimaryCtxRetain", "cuStreamCreateWithPriority", "cuEventCreate"}) {
    FailOnce(function, 2);
    auto model = TensorRtBackend().Load(PlanSpec(PlanText()));
    Status status = model.status();
    if (status.ok()) status = model.value()->Configure(Io(), "{}");
    if (status.ok())
      status = model.value()->CreateInstance({"m_0", 0, MemoryKind::kDevice, 0}).status();
    CHECK(Contains(status, "CUDA_ERROR_OUT_OF_MEMORY"));
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_fails_what_a_lost_gpu_has_and_serves_on_the_others) {
  {
    PlanBench lost(PlanText(), {0}, "0");
    PlanBench other(PlanText(), {1}, "1");
    const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", "20000");
    PlanBench slow(PlanText(), {0}, "0");
    slow.Ask({1});
    LoseGpu(0);
    CHECK(slow.sink.Wait(1));
    CHECK(!slow.StatusOf(0).ok());
    lost.Ask({1});
    CHECK(lost.sink.Wait(1));
    CHECK(Contains(lost.StatusOf(0), "CUDA_ERROR_LAUNCH_FAILED"));
    lost.Ask({2});
    CHECK(lost.sink.Wait(2));
    CHECK_EQ(lost.StatusOf(1).code(), Code::kUnavailable);
    CHECK(Contains(lost.StatusOf(1), "the GPU is lost for this process: GPU 0: "));
    CHECK(!LoadStatus(PlanText()).ok());
    other.Ask({3});
    CHECK(other.sink.Wait(1));
    CHECK(other.Answered(0, 3));
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_does_with_plain_memory_where_pinned_memory_is_used_up) {
  const uint64_t before = device::Gpu::plain_blocks();
  device::Gpu::LimitPinned(0);
  {
    PlanBench bench;
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
    CHECK(bench.Answered(0, 1));
    CHECK_EQ(Objects()[2], 0);
  }
  device::Gpu::LimitPinned(device::Gpu::kMostPinnedBytes);
  CHECK_EQ(device::Gpu::plain_blocks(), before + 2);
}

}  // namespace tritonts::test

// Batches of ONNX models on GPUs: tensors in device memory, streams, and the runtime's other calls.
#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

namespace {

ModelIo PlusOneIo(const std::string& input = "x", const std::string& output = "y") {
  return {8, {{input, DataType::kFp32, {-1, 4}}}, {{output, DataType::kFp32, {-1, 4}}}};
}

std::vector<float> Rows(float first, uint32_t rows = 1) {
  std::vector<float> values;
  for (uint32_t i = 0; i < rows; i++)
    for (const float value : Row(first + static_cast<float>(10 * i))) values.push_back(value);
  return values;
}

std::vector<float> PlusOneOf(std::vector<float> values) {
  for (float& value : values) value += 1;
  return values;
}

// Submits rows, one batch after the other, and checks the responses.
void CheckAnswers(OnnxBench& bench, uint32_t requests, uint32_t first_slot = 0) {
  for (uint32_t i = 0; i < requests; i++) {
    const uint32_t rows = 1 + i % 3;
    bench.Ask({rows, 4}, Rows(static_cast<float>(i), rows), rows);
    CHECK(bench.sink.Wait(first_slot + i + 1));
    CHECK(bench.Answer(first_slot + i) == PlusOneOf(Rows(static_cast<float>(i), rows)));
  }
}

}  // namespace

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_answers_and_leaves_nothing) {
  const FakeRuntime runtime;
  const auto before = Objects();
  for (const char* lanes : {"1", "2"}) {
    OnnxBench bench(runtime, PlusOne(), PlusOneIo(), {{"max_concurrency", lanes}});
    const int64_t up = CallsOf("cuMemcpyHtoDAsync_v2");
    const int64_t down = CallsOf("cuMemcpyDtoHAsync_v2");
    CheckAnswers(bench, 10);
    CHECK_EQ(CallsOf("cuMemcpyHtoDAsync_v2") - up, 10);
    CHECK_EQ(CallsOf("cuMemcpyDtoHAsync_v2") - down, 10);
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_does_not_wait_for_a_batch) {
  const FakeRuntime runtime;
  OnnxBench bench(runtime, PlusOne(), PlusOneIo());
  HeldWork kernels(GpuWork::kKernels);
  const int64_t copied = DoneOf(GpuWork::kUp);
  bench.Ask({1, 4}, Rows(1));
  CHECK(Eventually([&] { return DoneOf(GpuWork::kUp) == copied + 1; }));
  // It is enqueued while the first batch is not computed yet.
  bench.Ask({1, 4}, Rows(2));
  CHECK(Eventually([&] { return DoneOf(GpuWork::kUp) == copied + 2; }));
  CHECK(bench.sink.responses().empty());
  kernels.Release();
  CHECK(bench.sink.Wait(2));
  CHECK(bench.Answer(0) == PlusOneOf(Rows(1)));
  CHECK(bench.Answer(1) == PlusOneOf(Rows(2)));
}

RUNTIME_TEST(onnxruntime_that_blocks_in_a_run_does_not_hold_other_models_of_the_gpu_back) {
  const FakeRuntime runtime;
  OnnxBench bench(runtime, PlusOne(), PlusOneIo());
  runtime.Call<void(bool)>("fakeOrtHold")(true);
  bench.Ask({1, 4}, Rows(1));
  runtime.Call<void()>("fakeOrtAwaitHeld")();
  {
    PlanBench plan;
    plan.Ask({5});
    CHECK(plan.sink.Wait(1));
    CHECK(plan.Answered(0, 5));
  }
  CHECK(bench.sink.responses().empty());
  runtime.Call<void(bool)>("fakeOrtHold")(false);
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answer(0) == PlusOneOf(Rows(1)));
}

// The runtime allocates outputs of unknown size in its own device memory.
RUNTIME_TEST(onnxruntime_on_a_gpu_gives_outputs_whose_shapes_are_not_known_before) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, Identity(kOnnxFloat, -1), IdentityIo(DataType::kFp32, -1));
    for (uint32_t i = 0; i < 6; i++) {
      const std::vector<float> values(static_cast<size_t>(2 * i), static_cast<float>(i));
      bench.Ask({2, i}, values, 2);
      CHECK(bench.sink.Wait(i + 1));
      CHECK(bench.Answer(i) == values);
    }
  }
  {
    const auto writer = OnnxModelWriter()
                            .Input("x", Tensor(kOnnxFloat, {-1}))
                            .Node("NonZero", {"x"}, {"y"})
                            .Output("y", Tensor(kOnnxInt64, {1, -2}));
    OnnxBench bench(runtime, writer,
                    {0, {{"x", DataType::kFp32, {-1}}}, {{"y", DataType::kInt64, {1, -1}}}});
    bench.Ask({5}, {0, 3, 0, 4, 5});
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(bench.sink.Of(0).status.message(), "");
    CHECK(Values<int64_t>(bench.sink.Of(0).outputs[0].bytes) == std::vector<int64_t>({1, 3, 4}));
    bench.Ask({2}, {0, 0});
    CHECK(bench.sink.Wait(2));
    CHECK_EQ(bench.sink.Of(1).outputs[0].bytes.size(), 0u);
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_has_tensors_on_the_host_where_the_session_wants_them) {
  const FakeRuntime runtime;
  for (const auto& [input, output] :
       {std::pair{"host_x", "y"}, std::pair{"x", "host_y"}, std::pair{"host_x", "host_y"}}) {
    OnnxBench bench(runtime, PlusOne(input, output), PlusOneIo(input, output));
    const int64_t up = CallsOf("cuMemcpyHtoDAsync_v2");
    const int64_t down = CallsOf("cuMemcpyDtoHAsync_v2");
    CheckAnswers(bench, 5);
    CHECK_EQ(CallsOf("cuMemcpyHtoDAsync_v2") - up, std::string(input) == "x" ? 5 : 0);
    CHECK_EQ(CallsOf("cuMemcpyDtoHAsync_v2") - down, std::string(output) == "y" ? 5 : 0);
  }
  // Allocated by the runtime, on the host.
  OnnxBench bench(runtime,
                  OnnxModelWriter()
                      .Input("x", Tensor(kOnnxFloat, {-1, -2}))
                      .Node("Identity", {"x"}, {"host_y"})
                      .Output("host_y", Tensor(kOnnxFloat, {-1, -2})),
                  {8, {{"x", DataType::kFp32, {-1, -1}}}, {{"host_y", DataType::kFp32, {-1, -1}}}});
  bench.Ask({1, 3}, {1, 2, 3});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answer(0) == std::vector<float>({1, 2, 3}));
}

// The runtime then cannot report where outputs are.
RUNTIME_TEST(onnxruntime_on_a_gpu_gives_an_output_that_is_an_input) {
  const FakeRuntime runtime;
  OnnxBench bench(runtime,
                  OnnxModelWriter()
                      .Input("x", Tensor(kOnnxFloat, {-1, 2}))
                      .Output("x", Tensor(kOnnxFloat, {-1, 2})),
                  {8, {{"x", DataType::kFp32, {-1, 2}}}, {{"x", DataType::kFp32, {-1, 2}}}});
  for (uint32_t i = 0; i < 3; i++) {
    bench.Ask({1, 2}, {static_cast<float>(i), 2});
    CHECK(bench.sink.Wait(i + 1));
    CHECK(bench.Answer(i) == std::vector<float>({static_cast<float>(i), 2}));
  }
}

RUNTIME_TEST_FROM(22, onnxruntime_before_1_23_gets_tensors_on_the_host_and_copies_them) {
  const ScopedVariable version("TRITONTS_FAKE_ORT_VERSION", "1.22.0");
  const FakeRuntime runtime;
  OnnxBench bench(runtime, PlusOne(), PlusOneIo());
  const int64_t up = CallsOf("cuMemcpyHtoDAsync_v2");
  CheckAnswers(bench, 5);
  CHECK_EQ(CallsOf("cuMemcpyHtoDAsync_v2") - up, 0);
  auto refused =
      OnnxRuntimeBackend()->Load(OnnxSpec(runtime, PlusOne(), {{"cuda.enable_cuda_graph", "1"}}));
  CHECK_EQ(refused.status().code(), Code::kUnsupported);
  CHECK(Contains(refused.status(), "needs ONNX Runtime 1.23, but this is 1.22.0"));
}

// The fake launches a graph with the tensors that it was captured with, like the real runtime.
RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_captures_a_cuda_graph_for_each_shape_and_lane) {
  const FakeRuntime runtime;
  const auto captured = runtime.Call<int()>("fakeOrtCaptured");
  const auto before = Objects();
  for (const char* lanes : {"1", "2"}) {
    const int at_first = captured();
    OnnxBench bench(runtime, PlusOne(), PlusOneIo(),
                    {{"cuda.enable_cuda_graph", "1"}, {"max_concurrency", lanes}});
    CheckAnswers(bench, 60);
    // Batches of 1, 2 and 3 rows.
    CHECK(captured() - at_first >= 3);
    CHECK(captured() - at_first <= (lanes[0] == '1' ? 3 : 6));
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

// The driver then refuses calls of other threads, unless they have relaxed their capture mode.
TEST(gpu_goes_on_while_another_thread_captures_a_graph) {
  PlanBench bench;
  const auto capture = OfDriver<void(bool)>("fakeCudaCaptureEverywhere");
  capture(true);
  for (uint32_t i = 0; i < 5; i++) {
    bench.Ask({static_cast<float>(i)});
    CHECK(bench.sink.Wait(i + 1));
    CHECK(bench.Answered(i, static_cast<float>(i)));
  }
  capture(false);
}

// Loading allocates, and unloading frees. In this mode the driver refuses that, and ends the
// capture.
RUNTIME_TEST(onnxruntime_on_a_gpu_loads_and_unloads_while_another_thread_captures_a_graph) {
  const FakeRuntime runtime;
  const auto before = Objects();
  const auto capture = OfDriver<void(bool)>("fakeCudaCaptureEverywhere");
  capture(true);
  {
    OnnxBench bench(runtime, PlusOne(), Io());
    bench.Ask({1, 4}, Rows(1));
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(bench.sink.Of(0).status.message(), "");
  }
  capture(false);
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_captures_no_graph_where_memory_is_not_ours) {
  const FakeRuntime runtime;
  const auto captured = runtime.Call<int()>("fakeOrtCaptured");
  const int at_first = captured();
  OnnxBench dynamic(runtime, Identity(kOnnxFloat, -1), IdentityIo(DataType::kFp32, -1),
                    {{"cuda.enable_cuda_graph", "1"}});
  OnnxBench on_host(runtime, PlusOne("host_x"), PlusOneIo("host_x"),
                    {{"cuda.enable_cuda_graph", "1"}});
  for (OnnxBench* const bench : {&dynamic, &on_host}) {
    for (uint32_t i = 0; i < 3; i++) {
      bench->Ask({1, 4}, Rows(1));
      CHECK(bench->sink.Wait(i + 1));
    }
  }
  CHECK(dynamic.Answer(2) == Rows(1));
  CHECK(on_host.Answer(2) == PlusOneOf(Rows(1)));
  CHECK_EQ(captured(), at_first);
}

// Each number of columns is a separate shape.
RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_captures_a_limited_number_of_graphs) {
  const FakeRuntime runtime;
  const auto captured = runtime.Call<int()>("fakeOrtCaptured");
  const int at_first = captured();
  const auto writer = OnnxModelWriter()
                          .Input("x", Tensor(kOnnxFloat, {-1}))
                          .Node("ReduceSum", {"x"}, {"y"}, {IntAttribute("keepdims", 1)})
                          .Output("y", Tensor(kOnnxFloat, {1}));
  OnnxBench bench(runtime, writer,
                  {0, {{"x", DataType::kFp32, {-1}}}, {{"y", DataType::kFp32, {1}}}},
                  {{"cuda.enable_cuda_graph", "1"}});
  for (uint32_t i = 1; i <= 100; i++) {
    bench.Ask({i}, std::vector<float>(i, 2));
    CHECK(bench.sink.Wait(i));
    CHECK(bench.Answer(i - 1) == std::vector<float>({static_cast<float>(2 * i)}));
  }
  CHECK_EQ(captured() - at_first, 64);
}

// The memory bound for y has another shape than the result of Reshape.
RUNTIME_TEST(onnxruntime_on_a_gpu_tolerates_a_model_that_declares_a_wrong_shape) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime,
                    OnnxModelWriter()
                        .Input("x", Tensor(kOnnxFloat, {-1, 2}))
                        .Input("host_shape", Tensor(kOnnxInt64, {2}))
                        .Node("Reshape", {"x", "host_shape"}, {"y"})
                        .Node("Identity", {"x"}, {"same"})
                        .Output("y", Tensor(kOnnxFloat, {-1, 2}))
                        .Output("same", Tensor(kOnnxFloat, {-1, 2})),
                    {0,
                     {{"x", DataType::kFp32, {2, 2}}, {"host_shape", DataType::kInt64, {2}}},
                     {{"y", DataType::kFp32, {2, 2}}, {"same", DataType::kFp32, {2, 2}}}});
    const auto ask = [&](int64_t rows, int64_t columns) {
      Request* const request = bench.requests.Add();
      bench.requests.Input(request, 0, DataType::kFp32, {2, 2}, Raw<float>({1, 2, 3, 4}));
      bench.requests.Input(request, 1, DataType::kInt64, {2}, Raw<int64_t>({rows, columns}));
      bench.Submit({request});
    };
    const std::vector<std::pair<int64_t, int64_t>> shapes = {{2, 2}, {4, 1}, {2, 2}, {1, 4}};
    for (uint32_t i = 0; i < shapes.size(); i++) {
      ask(shapes[i].first, shapes[i].second);
      CHECK(bench.sink.Wait(i + 1));
      CHECK(bench.Answer(i) == std::vector<float>({1, 2, 3, 4}));
      auto response = bench.sink.Of(i);
      CHECK(response.outputs[0].shape == std::vector<int64_t>({shapes[i].first, shapes[i].second}));
      CHECK(Values<float>(response.outputs[1].bytes) == std::vector<float>({1, 2, 3, 4}));
    }
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_takes_strings_through_the_host) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, Identity(kOnnxString, 2), IdentityIo(DataType::kBytes, 2),
                    {{"cuda.enable_cuda_graph", "1"}});
    Request* const request = bench.requests.Add();
    bench.requests.Input(request, 0, DataType::kBytes, {1, 2}, Strings({"a", "bcd"}));
    bench.Submit({request});
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(bench.sink.Of(0).outputs[0].bytes, Strings({"a", "bcd"}));
  }
  CHECK(Objects() == before);
}

RUNTIME_TEST(onnxruntime_on_a_gpu_may_lack_inputs_that_have_a_default) {
  const FakeRuntime runtime;
  const auto writer = OnnxModelWriter()
                          .Initializer("b", kOnnxFloat, {1}, Raw<float>({10}))
                          .Input("x", Tensor(kOnnxFloat, {-1, 4}))
                          .Input("b", Tensor(kOnnxFloat, {1}))
                          .Node("Add", {"x", "b"}, {"y"})
                          .Output("y", Tensor(kOnnxFloat, {-1, 4}));
  OnnxBench bench(runtime, writer,
                  {0,
                   {{"x", DataType::kFp32, {-1, 4}}, {"b", DataType::kFp32, {1}, true}},
                   {{"y", DataType::kFp32, {-1, 4}}}});
  bench.Ask({1, 4}, {1, 2, 3, 4});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answer(0) == std::vector<float>({11, 12, 13, 14}));
  Request* const request = bench.requests.Add();
  bench.requests.Input(request, 0, DataType::kFp32, {1, 4}, Raw<float>({1, 2, 3, 4}));
  bench.requests.Input(request, 1, DataType::kFp32, {1}, Raw<float>({1}));
  bench.Submit({request});
  CHECK(bench.sink.Wait(2));
  CHECK(bench.Answer(1) == std::vector<float>({2, 3, 4, 5}));
}

RUNTIME_TEST(onnxruntime_on_a_gpu_tells_why_a_run_fails_and_goes_on) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, PlusOne(), PlusOneIo());
    {
      const ScopedVariable error("TRITONTS_FAKE_ORT_RUN_ERROR", "CUBLAS failure 13");
      bench.Ask({1, 4}, Rows(1));
      CHECK(bench.sink.Wait(1));
      CHECK_EQ(bench.sink.Of(0).status.code(), Code::kInternal);
      CHECK(Contains(bench.sink.Of(0).status, "model 'm': CUBLAS failure 13"));
    }
    CheckAnswers(bench, 3, 1);
    // The requests of a batch fail together.
    const ScopedVariable error("TRITONTS_FAKE_ORT_RUN_ERROR", "CUBLAS failure 13");
    for (int i = 0; i < 20; i++) bench.Ask({1, 4}, Rows(1));
    CHECK(bench.sink.Wait(24));
    for (uint32_t i = 4; i < 24; i++) CHECK(Contains(bench.sink.Of(i).status, "CUBLAS failure 13"));
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST(onnxruntime_on_a_gpu_ends_a_run_that_its_version_does_not_wait_for) {
  const FakeRuntime runtime;
  {
    OnnxBench bench(runtime, PlusOne(), PlusOneIo());
    runtime.Call<void(bool)>("fakeOrtHold")(true);
    bench.Ask({1, 4}, Rows(1));
    runtime.Call<void()>("fakeOrtAwaitHeld")();
    bench.version().Close();
    bench.version().Abort(Status::Unavailable(Reason::kNotReady, "it is unloaded"));
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(bench.sink.Of(0).status.code(), Code::kCancelled);
    runtime.Call<void(bool)>("fakeOrtHold")(false);
  }
  CHECK_EQ(runtime.live(), 0);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_a_gpu_survives_each_failing_call_of_the_driver) {
  const FakeRuntime runtime;
  const auto before = Objects();
  for (const char* function :
       {"cuMemAllocAsync", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
        "cuEventRecord", "cuStreamWaitEvent", "cuLaunchHostFunc", "fakeCudaLaunch"}) {
    for (int after = 0; after < 2; after++) {
      OnnxBench bench(runtime, PlusOne(), PlusOneIo());
      const int64_t called = CallsOf(function);
      FailOnce(function, 2, after);
      for (uint32_t i = 0; i < 4; i += 2) {
        // Streams wait only for a batch that is not alone.
        HeldWork kernels(GpuWork::kKernels);
        bench.Ask({1, 4}, Rows(1));
        bench.Ask({1, 4}, Rows(1));
        if (function == std::string("cuStreamWaitEvent"))
          CHECK(Eventually([&] { return CallsOf(function) > called + after; }));
        kernels.Release();
        CHECK(bench.sink.Wait(i + 2));
      }
      bench.Ask({1, 4}, Rows(1));
      CHECK(bench.sink.Wait(5));
      CHECK(bench.Answer(4) == PlusOneOf(Rows(1)));
    }
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST(onnxruntime_on_a_gpu_that_is_lost_fails_and_is_loaded_again) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, PlusOne(), PlusOneIo());
    CheckAnswers(bench, 1);
    LoseGpu(0);
    bench.Ask({1, 4}, Rows(1));
    CHECK(bench.sink.Wait(2));
    CHECK_EQ(bench.sink.Of(1).status.code(), Code::kUnavailable);
    const auto again = OnnxRuntimeBackend()->Load(OnnxSpec(runtime, PlusOne()));
    CHECK_EQ(again.status().code(), Code::kUnavailable);
  }
  CHECK_EQ(runtime.ReleaseLeft(), 1);
  CHECK(Objects() == before);
  OnnxBench bench(runtime, PlusOne(), PlusOneIo());
  CheckAnswers(bench, 2);
}

// The runtime's destructors throw on a device that frees nothing. So a GPU without batches is
// checked before.
RUNTIME_TEST(onnxruntime_on_a_gpu_that_was_lost_unnoticed_leaves_its_session) {
  const FakeRuntime runtime;
  const auto before = Objects();
  {
    OnnxBench bench(runtime, PlusOne(), PlusOneIo());
    CheckAnswers(bench, 1);
    LoseGpu(0);
  }
  CHECK_EQ(runtime.ReleaseLeft(), 1);
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

RUNTIME_TEST_FROM(23, onnxruntime_on_gpus_leaves_nothing_after_many_loads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kCycles = 100;  // each creates more than ten threads, which takes long there
#else
  constexpr int kCycles = 1000;
#endif
  const FakeRuntime runtime;
  const auto before = Objects();
  for (int i = 0; i < kCycles; i++) {
    const char* const graphs = i % 2 ? "1" : "0";
    // Mostly one instance, which takes less time.
    if (i % 10 > 0) {
      OnnxBench bench(runtime, PlusOne(), PlusOneIo(), {{"cuda.enable_cuda_graph", graphs}});
      CheckAnswers(bench, 1);
      continue;
    }
    OnnxBench bench(runtime, PlusOne(), PlusOneIo(),
                    {{"devices", "0,1"}, {"cuda.enable_cuda_graph", graphs}}, {0, 1, 1});
    CheckAnswers(bench, 4);
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

// All sessions of a device share a context, and their runs may overlap.
RUNTIME_TEST(onnxruntime_on_a_gpu_answers_many_at_once_from_several_instances) {
  const FakeRuntime runtime;
  OnnxBench bench(runtime, PlusOne(), PlusOneIo(), {{"devices", "0,1"}}, {0, 0, 1});
  for (uint32_t i = 0; i < 500; i++) bench.Ask({1, 4}, Rows(static_cast<float>(i)));
  CHECK(bench.sink.Wait(500));
  for (uint32_t i = 0; i < 500; i++)
    CHECK(bench.Answer(i) == PlusOneOf(Rows(static_cast<float>(i))));
}

}  // namespace tritonts::test

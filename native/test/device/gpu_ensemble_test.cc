// Tensors that stay in a GPU's memory between the steps of an ensemble: which do, how they reach
// the next batch, and that none is left.
#include "gpu_chain.h"

namespace tritonts::test {

namespace {

using Counts = std::vector<int64_t>;

bool Used(uint64_t bytes) {
  return Eventually([&] { return UsedBytes() == bytes; });
}

BlockRef TensorOf(device::Gpu& gpu) {
  const device::Gpu::Current current(gpu);
  auto tensor = gpu.Tensor(4);
  CHECK(tensor.ok());
  return tensor.take();
}

}  // namespace

TEST(gpu_ensembles_leave_a_tensor_between_their_steps_where_it_is) {
  {
    GpuChain chain({{PlanText()}, {PlanText()}, {PlanText()}});
    // The first requests allocate memory.
    for (uint32_t i = 0; i < 4; i++) {
      chain.Ask({1});
      CHECK(chain.sink.Wait(i + 1));
    }
    const Copies before;
    const int64_t calls = CallsForBatches();
    chain.Ask({1, 2, 3});
    CHECK(chain.sink.Wait(5));
    CHECK(chain.Answered(4, {4, 5, 6}));
    // One copy to the device and one back; the first plan's output is the next plan's input.
    CHECK(before.Since() == (Counts{1, 1, 0}));
    // The calls of three separate batches, minus the copies in between.
    CHECK_EQ(CallsForBatches() - calls, 3 * 9 - 2 * (1 + 1));
  }
  CHECK(Objects() == kNone);
}

// A group's requests travel together, and their rows are one tensor.
TEST(gpu_ensembles_leave_the_tensors_of_a_group_where_they_are) {
  GpuChain chain({{PlanText()}, {PlanText()}});
  const Copies before;
  RowGroup group(&chain.sink, {1, 2, 3});
  chain.Submit(group.all());
  CHECK(chain.sink.Wait(3));
  CHECK(before.Since() == (Counts{1, 1, 0}));
  const std::vector<SeenResponse> seen = chain.sink.AllOf(0);
  for (uint32_t i = 0; i < 3; i++) CHECK(FloatsOf(seen[i]) == Row(static_cast<float>(i + 3)));
}

TEST(gpu_batches_are_put_together_of_tensors_on_the_device) {
  // The second step waits for two requests.
  GpuChain chain({{PlanText()}, {PlanText(), {0}, Dynamic(8, {3}, kLong)}});
  const Copies before;
  chain.Ask({1});
  CHECK(Eventually([&] { return chain.step(0).statistics().success.count == 1; }));
  chain.Ask({5, 6});
  CHECK(chain.sink.Wait(2));
  CHECK(chain.Answered(0, {3}));
  CHECK(chain.Answered(1, {7, 8}));
  CHECK(before.Since() == (Counts{2, 1, 2}));
}

// TensorRT requires addresses that are multiples of 256, and the second row begins 16 bytes after
// the first.
TEST(gpu_tensors_that_begin_within_another_one_are_copied) {
  GpuChain chain({{PlanText(), {0}, Dynamic(8, {2}, kLong)}, {PlanText(), {0}, Dynamic(1)}});
  const Copies before;
  chain.Ask({1});
  chain.Ask({2});
  CHECK(chain.sink.Wait(2));
  CHECK(chain.Answered(0, {3}));
  CHECK(chain.Answered(1, {4}));
  CHECK(before.Since() == (Counts{1, 2, 1}));
}

TEST(gpu_batches_are_put_together_of_tensors_on_the_device_and_on_the_host) {
  GpuChain chain({{PlanText()}, {PlanText(), {0}, Dynamic(8, {4}, kLong)}});
  const Copies before;
  chain.Ask({1});
  CHECK(Eventually([&] { return chain.step(1).metrics({}).pending == 1; }));
  chain.AskStep(1, {10});
  chain.AskStep(1, {20});
  chain.Ask({2});
  CHECK(chain.sink.Wait(4));
  CHECK(chain.Answered(0, {3}));
  CHECK(chain.Answered(1, {11}));
  CHECK(chain.Answered(2, {21}));
  CHECK(chain.Answered(3, {4}));
  // Adjacent host tensors are copied together.
  CHECK(before.Since() == (Counts{3, 1, 2}));
}

TEST(gpu_tensors_are_copied_down_where_a_step_is_on_the_cpu) {
  GpuChain chain({{PlanText()}, {""}, {PlanText()}});
  const Copies before;
  chain.Ask({1, 2});
  CHECK(chain.sink.Wait(1));
  // The identity on the CPU returns its input.
  CHECK(chain.Answered(0, {3, 4}));
  CHECK(before.Since() == (Counts{2, 2, 0}));
}

TEST(gpu_tensors_are_copied_down_where_the_caller_wants_them) {
  EnsemblePlan plan = RowChain(2);
  plan.outputs.push_back(1);
  plan.io.outputs.push_back({"t", DataType::kFp32, {-1, 4}});
  GpuChain chain({{PlanText()}, {PlanText()}}, std::move(plan));
  const Copies both;
  chain.Ask({1});
  CHECK(chain.sink.Wait(1));
  CHECK(chain.Answered(0, {3}));
  CHECK(chain.Answered(0, {2}, 1));
  CHECK(both.Since() == (Counts{2, 2, 0}));
  const Copies last;
  chain.Ask({1}, {0});
  CHECK(chain.sink.Wait(2));
  CHECK(last.Since() == (Counts{1, 1, 0}));
}

// TensorRT reads the values of shape tensors on the host.
TEST(gpu_tensors_are_copied_down_for_inputs_that_are_read_on_the_host) {
  const TensorSpec dims{"x", DataType::kInt32, {2}};
  const TensorSpec number{"x", DataType::kFp32, {1}};
  EnsemblePlan plan;
  plan.io = {0, {{"dims", DataType::kInt32, {2}}, number}, {{"y", DataType::kFp32, {-1, -1}}}};
  plan.tensors = 4;
  plan.outputs = {3};
  plan.steps = {{"m", {{"x", 0}}, {{"y", 2}}}, {"m", {{"x", 1}, {"s", 2}}, {{"y", 3}}}};
  ChainStep adds{"fake-plan 10\nop add\ninput x 3 0 0 2\noutput y 3 0 0 2\n"};
  adds.io = ModelIo{0, {dims}, {{"y", DataType::kInt32, {2}}}};
  ChainStep fills{
      "fake-plan 10\nop fill\ninput x 0 0 0 1\ninput s 3 1 0 2\noutput y 0 0 0 -1 -1\n"
      "values s 1 1 2 2 4 5\n"};
  fills.io = ModelIo{0, {number, {"s", DataType::kInt32, {2}}}, plan.io.outputs};
  GpuChain chain({adds, fills}, plan);
  const Copies before;
  Request* const request = chain.requests.Add(1);
  chain.requests.Input(request, 0, DataType::kInt32, {2}, BytesOf(std::vector<int32_t>{1, 3}));
  chain.requests.Input(request, 1, DataType::kFp32, {1}, BytesOf(std::vector<float>{7}));
  chain.Submit({request});
  CHECK(chain.sink.Wait(1));
  CHECK_EQ(chain.sink.Of(0).status.message(), "");
  CHECK(chain.sink.Of(0).outputs[0].shape == (std::vector<int64_t>{2, 4}));
  CHECK(FloatsOf(chain.sink.Of(0)) == std::vector<float>(8, 7));
  CHECK(before.Since() == (Counts{2, 2, 0}));
}

// Rows of an output whose shape depends on data, and the outputs of a graph with fixed addresses.
TEST(gpu_tensors_that_are_computed_elsewhere_are_copied_on_the_device) {
  GpuChain chain({{PlanText()}, {PlanText(), {0}, Dynamic(8), {{"graphs", "true"}}}, {PlanText()}});
  for (uint32_t i = 0; i < 4; i++) {
    chain.Ask({1});
    CHECK(chain.sink.Wait(i + 1));
  }
  const Copies before;
  chain.Ask({1});
  CHECK(chain.sink.Wait(5));
  CHECK(chain.Answered(4, {4}));
  // To the graph's memory, and from there.
  CHECK(before.Since() == (Counts{1, 1, 2}));
  GpuChain told_late({{PlanText("positive")}, {PlanText()}});
  const Copies late;
  told_late.Ask({1, 2});
  CHECK(told_late.sink.Wait(1));
  CHECK(told_late.Answered(0, {2, 3}));
  CHECK(late.Since() == (Counts{1, 1, 1}));
}

// Padding within rows happens on the host. Missing rows at the end need no padding.
TEST(gpu_graphs_are_padded_with_rows_for_tensors_on_the_device_and_not_within_them) {
  const std::string plan =
      "fake-plan 10\nop add\ninput x 0 0 0 -1 -1\noutput y 0 0 0 -1 -1\nprofile x 1 1 4 8 8 16\n";
  const ModelIo io{8, {{"x", DataType::kFp32, {-1, -1}}}, {{"y", DataType::kFp32, {-1, -1}}}};
  for (const auto& [graph, launched] :
       {std::pair{"graph 2 1\ninput 8 2 x", 0}, std::pair{"graph 4 1\ninput 4 4 x", 1}}) {
    GpuChain chain(
        {{PlanText()}, {plan, {0}, Dynamic(8), {{"graphs", "true"}, {"graph_specs", graph}}, io}});
    const Copies before;
    const int64_t launches = CallsOf("cuGraphLaunch");
    chain.Ask({1});
    CHECK(chain.sink.Wait(1));
    CHECK(chain.Answered(0, {3}));
    CHECK_EQ(CallsOf("cuGraphLaunch") - launches, launched);
    CHECK(before.Since() == (Counts{1, 1, launched}));
  }
}

TEST(gpu_ensembles_with_random_delays_answer_what_their_plans_say) {
  const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", "200");
  {
    GpuChain chain({{PlanText(), {0, 0}}, {PlanText(), {0}}, {PlanText(), {0, 0}}});
    for (uint32_t i = 0; i < 200; i++) chain.Ask({static_cast<float>(i)});
    CHECK(chain.sink.Wait(200));
    for (uint32_t i = 0; i < 200; i++) CHECK(chain.Answered(i, {static_cast<float>(i + 3)}));
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_tensors_come_back_however_their_request_ends) {
  {
    GpuChain chain({{PlanText()}, {PlanText("fail")}});
    chain.Ask({1});
    CHECK(chain.sink.Wait(1));
    CHECK(!chain.sink.Of(0).status.ok());
    // The contexts' memory, the first step's input and the second one's output.
    CHECK(Used(4 * kPage));
  }
  {
    GpuChain chain({{PlanText()}, {PlanText(), {0}, Dynamic(8, {8}, kLong)}});
    Request* const request = chain.Ask({1});
    // Likewise, with the waiting tensor.
    CHECK(Eventually([&] { return chain.step(0).statistics().success.count == 1; }));
    CHECK(Used(4 * kPage));
    chain.Cancel(request);
    CHECK(chain.sink.Wait(1));
    CHECK_EQ(chain.sink.Of(0).status.code(), Code::kCancelled);
    CHECK(Used(3 * kPage));
  }
  CHECK(Used(0));
  CHECK(Objects() == kNone);
}

TEST(gpu_tensors_come_back_from_a_gpu_that_is_lost) {
  {
    GpuChain chain({{PlanText()}, {PlanText(), {0}, Dynamic(8, {2}, kLong)}});
    chain.Ask({1});
    CHECK(Eventually([&] { return chain.step(0).statistics().success.count == 1; }));
    LoseGpu(0);
    // The second step's batch contains both requests, or the first step fails.
    chain.AskStep(1, {2});
    CHECK(chain.sink.Wait(2));
    CHECK(!chain.sink.Of(0).status.ok());
    CHECK(!chain.sink.Of(1).status.ok());
  }
  CHECK(Objects() == kNone);
}

// The last reference may be released on the JS thread, which must not call the driver.
TEST(gpu_tensors_beyond_the_pool_are_freed_by_another_thread) {
  device::Gpu::LimitDevice(0, 0);
  {
    const auto gpu = OpenGpu();
    BlockRef tensor = TensorOf(*gpu);
    const int64_t freed = CallsOf("cuMemFree_v2");
    {
      const ScopedVariable off_main("TRITONTS_FAKE_OFF_MAIN", "1");
      tensor.reset();
    }
    CHECK(Eventually([&] { return CallsOf("cuMemFree_v2") == freed + 1; }));
  }
  device::Gpu::LimitDevice(0, device::Gpu::kMostDeviceBytes);
  CHECK(Objects() == kNone);
}

TEST(gpu_ends_when_its_tensors_have_come_back) {
  auto gpu = OpenGpu();
  BlockRef tensor = TensorOf(*gpu);
  const std::weak_ptr<device::Gpu> weak = gpu;
  std::atomic<bool> ended{false};
  std::thread end([&] {
    gpu.reset();
    ended = true;
  });
  CHECK(Eventually([&] { return weak.expired(); }));
  // Long enough for a destructor that does not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!ended);
  tensor.reset();
  end.join();
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test

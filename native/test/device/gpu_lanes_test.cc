// Several batches of an instance under way on a GPU: what overlaps, which calls it needs, and how
// times are reported.
#include "gpu_work.h"

namespace tritonts::test {

namespace {

bool WaitUntilDone(GpuWork kind, int64_t count) {
  return Eventually([&] { return DoneOf(kind) >= count; });
}

// Waits for at least this time.
void Pass(uint64_t ns) {
  const uint64_t began = NowNs();
  CHECK(Eventually([&] { return NowNs() - began > ns; }));
}

constexpr uint64_t kTime = 20'000'000;

}  // namespace

TEST(gpu_copies_the_inputs_of_a_batch_while_the_one_before_is_computed) {
  PlanBench bench;
  HeldWork kernels(GpuWork::kKernels);
  const int64_t copied = DoneOf(GpuWork::kUp);
  const int64_t computed = DoneOf(GpuWork::kKernels);
  bench.Ask({1});
  CHECK(WaitUntilDone(GpuWork::kUp, copied + 1));
  bench.Ask({2});
  CHECK(WaitUntilDone(GpuWork::kUp, copied + 2));
  CHECK_EQ(DoneOf(GpuWork::kKernels), computed);
  kernels.Release();
  CHECK(bench.sink.Wait(2));
  CHECK(bench.Answered(0, 1));
  CHECK(bench.Answered(1, 2));
}

TEST(gpu_computes_a_batch_while_the_outputs_of_the_one_before_are_copied) {
  // Enough rows that the outputs are copied back on a separate stream.
  constexpr uint32_t kRows = 8192;
  const std::string plan =
      "fake-plan 10\nop add\ninput x 0 0 0 -1 4\noutput y 0 0 0 -1 4\n"
      "profile x 1 4 4 4 8192 4\n";
  PlanBench bench(PlanSpec(plan), {0}, Io(kRows));
  HeldWork down(GpuWork::kDown);
  const int64_t computed = DoneOf(GpuWork::kKernels);
  for (const int64_t i : {1, 2}) {
    bench.Ask(std::vector<float>(kRows, static_cast<float>(i)));
    CHECK(WaitUntilDone(GpuWork::kKernels, computed + i));
  }
  CHECK(bench.sink.responses().empty());
  down.Release();
  CHECK(bench.sink.Wait(2));
  for (const uint32_t i : {0U, 1U}) {
    const std::string row = BytesOf(Row(static_cast<float>(i) + 2));
    const std::string bytes = bench.sink.Of(i).outputs[0].bytes;
    CHECK_EQ(bytes.size(), kRows * row.size());
    CHECK(bytes.starts_with(row) && bytes.ends_with(row));
  }
}

// Waiting for another stream would take longer.
TEST(gpu_copies_small_outputs_of_a_batch_that_is_alone_where_it_was_computed) {
  PlanBench bench;
  HeldWork down(GpuWork::kDown);
  const int64_t computed = DoneOf(GpuWork::kKernels);
  const int64_t copied = DoneOf(GpuWork::kUp);
  bench.Ask({1});
  CHECK(WaitUntilDone(GpuWork::kKernels, computed + 1));
  bench.Ask({2});
  // This batch is not alone, so it is copied on a separate stream.
  CHECK(WaitUntilDone(GpuWork::kUp, copied + 2));
  CHECK_EQ(DoneOf(GpuWork::kKernels), computed + 1);
  down.Release();
  CHECK(bench.sink.Wait(2));
  CHECK(bench.Answered(0, 1));
  CHECK(bench.Answered(1, 2));
}

// Later requests wait in the queue, where they join a larger batch.
TEST(gpu_has_no_more_batches_under_way_than_max_concurrency) {
  for (const int64_t most : {1, 2, 3}) {
    PlanBench bench(PlanWith({{"max_concurrency", std::to_string(most)}}));
    HeldWork kernels(GpuWork::kKernels);
    const int64_t copied = DoneOf(GpuWork::kUp);
    const int64_t computed = DoneOf(GpuWork::kKernels);
    for (int64_t i = 0; i < most; i++) {
      bench.Ask({static_cast<float>(i)});
      CHECK(WaitUntilDone(GpuWork::kUp, copied + i + 1));
    }
    const auto first = static_cast<uint32_t>(most);
    for (uint32_t i = first; i < first + 4; i++) bench.Ask({static_cast<float>(i)});
    kernels.Release();
    CHECK(bench.sink.Wait(first + 4));
    for (uint32_t i = 0; i < first + 4; i++) CHECK(bench.Answered(i, static_cast<float>(i)));
    CHECK_EQ(DoneOf(GpuWork::kKernels), computed + most + 1);
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_makes_exactly_the_calls_that_a_batch_needs) {
  for (const int64_t most : {1, 2}) {
    PlanBench bench(PlanWith({{"max_concurrency", std::to_string(most)}}));
    const int64_t allocated = Allocations();
    const int64_t pinned = PinnedAllocations();
    uint32_t asked = 0;
    const auto ask = [&](uint32_t count) {
      for (uint32_t i = 0; i < count; i++) {
        bench.Ask({1, 2});
        CHECK(bench.sink.Wait(++asked));
      }
    };
    const auto ask_together = [&] {
      HeldWork kernels(GpuWork::kKernels);
      const int64_t copied = DoneOf(GpuWork::kUp);
      for (int64_t i = 0; i < most; i++) {
        bench.Ask({1, 2});
        asked++;
        CHECK(WaitUntilDone(GpuWork::kUp, copied + i + 1));
      }
      kernels.Release();
      CHECK(bench.sink.Wait(asked));
    };
    ask(4);
    ask_together();
    int64_t before = CallsForBatches();
    int64_t questions = CallsOf("cuEventQuery");
    ask(50);
    // A copy each way, the plan, three events, the callback and two queries of times. The end of
    // each batch is queried once.
    CHECK_EQ(CallsForBatches() - before, 50 * 9);
    CHECK(CallsOf("cuEventQuery") - questions >= 50);
    before = CallsForBatches();
    questions = CallsOf("cuEventQuery");
    ask_together();
    // The second batch also needs an event and a wait for the copy up, and a wait for the copy
    // down.
    CHECK_EQ(CallsForBatches() - before, most == 1 ? 9 : 9 + 12);
    CHECK(CallsOf("cuEventQuery") - questions >= most);
    // A tensor each way for each batch under way, and at most one that is still being freed.
    CHECK(Allocations() - allocated <= 3 * most);
    CHECK(PinnedAllocations() - pinned <= 3 * most);
  }
}

TEST(gpu_tells_the_times_of_a_batch_by_the_device_s_clock) {
  const ScopedVariable kernel("TRITONTS_FAKE_KERNEL_US", std::to_string(kTime / 1000));
  PlanBench bench;
  HeldWork up(GpuWork::kUp);
  HeldWork down(GpuWork::kDown);
  const int64_t computed = DoneOf(GpuWork::kKernels);
  bench.Ask({1});
  Pass(kTime);
  up.Release();
  CHECK(WaitUntilDone(GpuWork::kKernels, computed + 1));
  Pass(kTime);
  down.Release();
  CHECK(bench.sink.Wait(1));
  const Statistics statistics = bench.version().statistics();
  CHECK(statistics.compute_input.ns >= kTime);
  CHECK(statistics.compute_infer.ns >= kTime);
  CHECK(statistics.compute_output.ns >= kTime);
}

TEST(gpu_answers_although_the_device_tells_no_times) {
  PlanBench bench;
  FailOnce("cuEventElapsedTime", 2);
  bench.Ask({1});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answered(0, 1));
}

TEST(gpu_spins_for_the_end_of_batches_only_if_it_is_told_to) {
  {
    PlanBench bench(PlanWith({{"busy_wait_events", "true"}}));
    const int64_t told = CallsOf("cuLaunchHostFunc");
    for (uint32_t i = 0; i < 50; i++) bench.Ask({static_cast<float>(i)});
    CHECK(bench.sink.Wait(50));
    for (uint32_t i = 0; i < 50; i++) CHECK(bench.Answered(i, static_cast<float>(i)));
    CHECK_EQ(CallsOf("cuLaunchHostFunc"), told);
    HeldWork kernels(GpuWork::kKernels);
    bench.Ask({1});
    const int64_t asked = CallsOf("cuEventQuery");
    CHECK(Eventually([&] { return CallsOf("cuEventQuery") > asked + 1000; }));
    kernels.Release();
    CHECK(bench.sink.Wait(51));
    // No batch is under way.
    const int64_t last = CallsOf("cuEventQuery");
    Pass(kTime);
    CHECK_EQ(CallsOf("cuEventQuery"), last);
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_gives_up_what_spins_when_the_gpu_is_lost) {
  {
    PlanBench bench(PlanWith({{"busy_wait_events", "true"}}));
    HeldWork kernels(GpuWork::kKernels);
    bench.Ask({1});
    const int64_t asked = CallsOf("cuEventQuery");
    CHECK(Eventually([&] { return CallsOf("cuEventQuery") > asked; }));
    LoseGpu(0);
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(bench.StatusOf(0).code(), Code::kUnavailable);
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_streams_have_the_priority_of_their_model) {
  const auto of = OfDriver<int(int)>("fakeCudaStreamsOf");
  const PlanBench most(PlanWith({{"priority", "max"}}));
  CHECK_EQ(of(-5), 3);
  const PlanBench least(PlanWith({{"priority", "min"}}));
  CHECK_EQ(of(-5), 3);
  // One of these is the pool's stream.
  CHECK_EQ(of(0), 4);
}

}  // namespace tritonts::test

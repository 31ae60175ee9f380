// Instances on several GPUs under random delays, batches and losses: every request ends once, with
// its own rows or with the reason.
#include <random>

#include "gpu_work.h"

namespace tritonts::test {

namespace {

int64_t KernelsOf(int id) {
  return OfDriver<int64_t(int)>("fakeCudaKernels")(id);
}

ModelSpec RandomSpec(std::minstd_rand* random) {
  ModelSpec spec = PlanSpec(PlanText(), "0,1,2,3");
  spec.settings["max_concurrency"] = std::to_string(1 + (*random)() % 4);
  if ((*random)() % 3 == 0) spec.settings["busy_wait_events"] = "true";
  return spec;
}

}  // namespace

TEST(gpu_requests_end_once_whatever_the_delays_and_whichever_gpu_is_lost) {
  const ScopedVariable gpus("TRITONTS_FAKE_GPUS", "4");
  for (unsigned seed = 1; seed <= 12; seed++) {
    std::minstd_rand random(seed);
    const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", std::to_string(1 + random() % 300));
    PlanBench bench(RandomSpec(&random), {0, 0, 1, 2, 3});
    const uint32_t count = 120;
    const uint32_t lost_at = seed % 2 == 0 ? random() % count : count;
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < count; i++) {
      if (i == lost_at) LoseGpu(static_cast<int>(random() % 4));
      std::vector<float> firsts(1 + random() % 3, static_cast<float>(10 * i));
      rows.push_back(static_cast<uint32_t>(firsts.size()));
      bench.Ask(firsts);
      if (random() % 8 == 0) CHECK(bench.sink.Wait(i / 2));
    }
    CHECK(bench.sink.Wait(count));
    for (uint32_t i = 0; i < count; i++) {
      const SeenResponse seen = bench.sink.Of(i);
      if (!seen.status.ok()) {
        CHECK(lost_at < count);
        CHECK_EQ(seen.status.code(), Code::kUnavailable);
        CHECK(Contains(seen.status, "CUDA_ERROR_LAUNCH_FAILED"));
        continue;
      }
      std::string expected;
      for (uint32_t row = 0; row < rows[i]; row++)
        expected += BytesOf(Row(static_cast<float>(10 * i) + 1));
      CHECK(seen.outputs.at(0).bytes == expected);
    }
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_work_goes_to_the_devices_by_their_speed) {
  const ScopedVariable gpus("TRITONTS_FAKE_GPUS", "4");
  const ScopedVariable kernels("TRITONTS_FAKE_KERNEL_US", "1000,4000,16000,64000");
  PlanBench bench(PlanSpec(PlanText(), "0,1,2,3"), {0, 1, 2, 3});
  int64_t before[4];
  for (int id = 0; id < 4; id++) before[id] = KernelsOf(id);
  const uint32_t count = 400;
  for (uint32_t i = 0; i < count; i++) bench.Ask({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(bench.sink.Wait(count));
  int64_t ran[4];
  int64_t all = 0;
  for (int id = 0; id < 4; id++) all += ran[id] = KernelsOf(id) - before[id];
  CHECK_EQ(all, static_cast<int64_t>(count));
  // Each is four times as fast as the next one.
  for (int id = 0; id < 3; id++) CHECK(ran[id] > ran[id + 1]);
  CHECK(ran[3] > 0);
}

}  // namespace tritonts::test

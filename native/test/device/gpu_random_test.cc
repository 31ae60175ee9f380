// Instances on several GPUs under random delays, batches and losses: every request ends once, with
// its own rows or with the reason.
#include <algorithm>
#include <random>

#include "gpu_work.h"

namespace tritonts::test {

namespace {

int64_t KernelsOf(int id) {
  return OfDriver<int64_t(int)>("fakeCudaKernels")(id);
}

// Kernels that begin one by one, when the test permits it.
class SteppedKernels {
 public:
  SteppedKernels() { Step(true); }
  ~SteppedKernels() { LetAll(); }
  SteppedKernels(const SteppedKernels&) = delete;
  SteppedKernels& operator=(const SteppedKernels&) = delete;
  void Let(int id) const { OfDriver<void(int)>("fakeCudaStep")(id); }
  void LetAll() const { Step(false); }
  int ReadyOf(int id) const { return OfDriver<int(int)>("fakeCudaReady")(id); }

 private:
  static void Step(bool stepping) { OfDriver<void(bool)>("fakeCudaStepping")(stepping); }
};

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

// The test simulates time: a batch takes each device this long, and the device that finishes first
// continues.
TEST(gpu_work_goes_to_the_devices_by_their_speed) {
  const ScopedVariable gpus("TRITONTS_FAKE_GPUS", "4");
  constexpr int64_t kTimes[] = {1, 4, 16, 64};
  // Batches that are left when the loop ends, so that each device had another one until then.
  constexpr int64_t kLeft = 16;
  PlanBench bench(PlanSpec(PlanText(), "0,1,2,3"), {0, 1, 2, 3});
  int64_t before[4];
  for (int id = 0; id < 4; id++) before[id] = KernelsOf(id);
  const SteppedKernels kernels;
  const uint32_t count = 400;
  for (uint32_t i = 0; i < count; i++) bench.Ask({0, 1, 2, 3, 4, 5, 6, 7});
  int64_t ran[4] = {};
  int64_t through[] = {kTimes[0], kTimes[1], kTimes[2], kTimes[3]};
  for (int64_t i = 0; i < count - kLeft; i++) {
    const auto id = static_cast<int>(std::min_element(through, through + 4) - through);
    // The kernel that is ready must not be the one that was last permitted.
    const bool ready = Eventually([&] { return KernelsOf(id) - before[id] == ran[id]; }) &&
                       Eventually([&] { return kernels.ReadyOf(id) > 0; });
    CHECK(ready);
    if (!ready) break;
    kernels.Let(id);
    ran[id]++;
    through[id] += kTimes[id];
  }
  kernels.LetAll();
  CHECK(bench.sink.Wait(count));
  int64_t all = 0;
  for (int id = 0; id < 4; id++) {
    const int64_t kernels_of = KernelsOf(id) - before[id];
    CHECK(kernels_of >= ran[id]);
    CHECK(kernels_of <= ran[id] + kLeft);
    all += kernels_of;
  }
  CHECK_EQ(all, static_cast<int64_t>(count));
  // Each device is four times as fast as the next.
  for (int id = 0; id < 3; id++) CHECK(ran[id] >= 4 * ran[id + 1]);
  CHECK(ran[3] > 0);
}

}  // namespace tritonts::test

// How GPUs are opened: independently, and once for all threads that open the same one.
#include <new>
#include <thread>

#include "device/cuda.h"
#include "device/gpu.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

using device::Gpu;

std::shared_ptr<Gpu> OpenGpu(int id) {
  auto gpu = Gpu::Open(device::FindCudaDevices().driver, id);
  CHECK(gpu.ok());
  return gpu.ok() ? gpu.take() : nullptr;
}

}  // namespace

TEST(gpu_that_takes_long_to_open_does_not_hold_other_gpus_up) {
  const auto hold = OfDriver<void(int)>("fakeCudaHoldOpening");
  const auto held = OfDriver<int()>("fakeCudaOpening");
  hold(0);
  std::shared_ptr<Gpu> slow[2];
  std::thread openers[2];
  for (int i = 0; i < 2; i++) openers[i] = std::thread([&slow, i] { slow[i] = OpenGpu(0); });
  CHECK(Eventually([&] { return held() == 1; }));
  {
    std::atomic<bool> opened{false};
    std::thread other([&] {
      const auto gpu = OpenGpu(1);
      opened = true;
    });
    CHECK(Eventually([&] { return opened.load(); }));
    // Otherwise the thread would not end.
    if (!opened) hold(-1);
    other.join();
  }
  CHECK_EQ(held(), 1);
  hold(-1);
  for (std::thread& opener : openers) opener.join();
  // Both threads got the same Gpu.
  CHECK(slow[0] && slow[0] == slow[1]);
  slow[0].reset();
  slow[1].reset();
  CHECK(Objects() == kNone);
}

TEST(gpu_that_does_not_open_is_opened_by_the_next_who_asks) {
  FailOnce("cuDevicePrimaryCtxRetain", 2);
  const auto failed = Gpu::Open(device::FindCudaDevices().driver, 0);
  CHECK(Contains(failed.status(), "GPU 0: cuDevicePrimaryCtxRetain failed with"));
  CHECK(OpenGpu(0) != nullptr);
  CHECK(Objects() == kNone);
}

TEST(gpu_that_lacks_memory_while_it_opens_is_opened_by_the_next_who_asks) {
  constexpr int kThrows = -1;  // of the fake driver
  FailOnce("cuDevicePrimaryCtxRetain", kThrows);
  bool threw = false;
  try {
    (void)Gpu::Open(device::FindCudaDevices().driver, 0);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  CHECK(threw);
  CHECK(OpenGpu(0) != nullptr);
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test

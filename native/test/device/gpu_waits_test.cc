// A driver call waits for all work of a GPU, and other calls wait for that call. Meanwhile host
// functions must end, and threads that do not call the driver must not wait.
#include <atomic>
#include <thread>

#include "device/cuda.h"
#include "device/gpu.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

using device::Gpu;

// A thread in a call that waits until the GPU has done all its work.
class WaitingCall {
 public:
  explicit WaitingCall(const Gpu& gpu) {
    const int64_t before = CallsOf("cuMemFree_v2");
    thread_ = std::thread([&gpu] {
      const Gpu::Current current(gpu);
      device::cuda::Address address = 0;
      CHECK_EQ(gpu.call().MemAlloc(&address, 1), 0);
      CHECK_EQ(gpu.call().MemFree(address), 0);
    });
    CHECK(Eventually([&] { return CallsOf("cuMemFree_v2") > before; }));
  }
  ~WaitingCall() { thread_.join(); }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;

  // Waits until this many calls are blocked by it.
  static bool HoldsUp(int count) {
    return Eventually([&] { return OfDriver<int()>("fakeCudaHeldUp")() >= count; });
  }

 private:
  std::thread thread_;
};

// Submits a batch. When this returns, its kernels are on their stream.
void AskAndEnqueue(PlanBench* bench) {
  const int64_t enqueued = CallsOf("cuLaunchHostFunc");
  bench->Ask({1});
  CHECK(Eventually([&] { return CallsOf("cuLaunchHostFunc") > enqueued; }));
}

}  // namespace

// A host function must not wait for a thread that is inside a driver call.
TEST(gpu_batch_ends_although_the_question_for_its_event_waits_in_the_driver) {
  {
    const auto gpu = OpenGpu();
    PlanBench bench;
    HeldWork kernels(GpuWork::kKernels);
    AskAndEnqueue(&bench);
    const WaitingCall call(*gpu);
    // The finishing thread checks whether the GPU is lost.
    CHECK(WaitingCall::HoldsUp(1));
    kernels.Release();
    CHECK(bench.sink.Wait(1));
    CHECK(bench.Answered(0, 1));
  }
  CHECK(Objects() == kNone);
}

// A JS thread may release a tensor, for example when a request is cancelled.
TEST(gpu_tensor_is_dropped_without_waiting_for_who_allocates) {
  {
    const auto gpu = OpenGpu();
    PlanBench bench;
    BlockRef tensor;
    {
      const Gpu::Current current(*gpu);
      tensor = gpu->Tensor(1).take();
    }
    HeldWork kernels(GpuWork::kKernels);
    AskAndEnqueue(&bench);
    const WaitingCall call(*gpu);
    CHECK(WaitingCall::HoldsUp(1));
    const int64_t asked = CallsOf("cuMemAllocAsync");
    std::thread allocates([&] {
      const Gpu::Current current(*gpu);
      device::DeviceMemory memory(gpu);
      CHECK(memory.Reserve(1 << 20).ok());
    });
    CHECK(Eventually([&] { return CallsOf("cuMemAllocAsync") > asked; }));
    CHECK(WaitingCall::HoldsUp(2));
    std::atomic<bool> dropped{false};
    std::thread drops([&] {
      tensor.reset();
      dropped = true;
    });
    CHECK(Eventually([&] { return dropped.load(); }));
    kernels.Release();
    CHECK(bench.sink.Wait(1));
    allocates.join();
    drops.join();
  }
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test

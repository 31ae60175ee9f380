// The pools of pinned memory and of a GPU's memory: what they keep, what exceeds their limits, and
// how that is counted.
#include "device/cuda.h"
#include "device/gpu.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

using device::Gpu;

// Sets the limits of the pools, and restores them in the destructor.
class ScopedLimits {
 public:
  ScopedLimits(size_t pinned, size_t memory) {
    Gpu::LimitPinned(pinned);
    Gpu::LimitDevice(0, memory);
  }
  ~ScopedLimits() {
    Gpu::LimitPinned(Gpu::kMostPinnedBytes);
    Gpu::LimitDevice(0, Gpu::kMostDeviceBytes);
  }
};

}  // namespace

TEST(gpu_memory_that_was_given_back_is_used_again) {
  const auto kept = OpenGpu();
  for (int i = 0; i < 3; i++) {
    const int64_t before = Allocations();
    const int64_t pinned = PinnedAllocations();
    PlanBench bench;
    for (uint32_t k = 0; k < 4; k++) {
      bench.Ask({1});
      CHECK(bench.sink.Wait(k + 1));
    }
    // The lane that became idle last is used first: a tensor each way. The contexts have one.
    CHECK_EQ(Allocations() - before, (i == 0 ? 3 : 0));
    CHECK_EQ(PinnedAllocations() - pinned, (i == 0 ? 2 : 0));
  }
  CHECK_EQ(Gpu::DeviceCounts(0).used_bytes, 0u);
  CHECK_EQ(Gpu::PinnedCounts().used_bytes, 0u);
}

TEST(gpu_memory_beyond_the_pool_is_the_driver_s_and_is_counted) {
  const ScopedLimits limits(0, 0);
  const uint64_t plain = Gpu::DeviceCounts(0).plain_blocks;
  const uint64_t unpinned = Gpu::PinnedCounts().plain_blocks;
  {
    PlanBench bench;
    FailOnce("cuMemAlloc_v2", 2);
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
    CHECK(Contains(bench.StatusOf(0),
                   "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)"));
    for (uint32_t k = 1; k < 4; k++) {
      bench.Ask({static_cast<float>(k)});
      CHECK(bench.sink.Wait(k + 1));
      CHECK(bench.Answered(k, static_cast<float>(k)));
    }
    CHECK_EQ(Objects()[2], 0);
  }
  CHECK(Gpu::DeviceCounts(0).plain_blocks >= plain + 2);
  CHECK(Gpu::PinnedCounts().plain_blocks >= unpinned + 6);
  CHECK(Objects() == kNone);
}

TEST(gpu_memory_of_sizes_that_nobody_asks_for_makes_room_for_others) {
  const ScopedLimits limits(Gpu::kMostPinnedBytes, 8 * kPage);
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  const uint64_t plain = Gpu::DeviceCounts(0).plain_blocks;
  {
    device::DeviceMemory small[4] = {device::DeviceMemory(gpu), device::DeviceMemory(gpu),
                                     device::DeviceMemory(gpu), device::DeviceMemory(gpu)};
    for (auto& one : small) CHECK(one.Reserve(1).ok());
    CHECK_EQ(Gpu::DeviceCounts(0).used_bytes, 4 * kPage);
    // Four pages are left, so this exceeds the pool while the others are used.
    device::DeviceMemory large(gpu);
    CHECK(large.Reserve(8 * kPage).ok());
    CHECK_EQ(Gpu::DeviceCounts(0).plain_blocks, plain + 1);
  }
  const int64_t freed = CallsOf("cuMemFreeAsync");
  device::DeviceMemory large(gpu);
  CHECK(large.Reserve(8 * kPage).ok());
  CHECK_EQ(CallsOf("cuMemFreeAsync") - freed, 4);
  CHECK_EQ(Gpu::DeviceCounts(0).plain_blocks, plain + 1);
}

// Rounded like the pool's memory, a large tensor could take twice what it needs.
TEST(gpu_memory_beyond_the_pool_is_little_more_than_was_asked_for) {
  const ScopedLimits limits(Gpu::kMostPinnedBytes, 8 * kPage);
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  for (const size_t size : {9 * kPage, 33 * kPage, 1000 * kPage, 1025 * kPage + 1}) {
    device::DeviceMemory memory(gpu);
    CHECK(memory.Reserve(size).ok());
    CHECK(memory.size() >= size);
    CHECK(memory.size() <= size + size / 8 + kPage);
  }
}

TEST(gpu_memory_that_is_idle_stays_where_a_tensor_is_too_large_for_the_pool) {
  const ScopedLimits limits(Gpu::kMostPinnedBytes, 8 * kPage);
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  const auto use = [&](size_t size) {
    device::DeviceMemory memory(gpu);
    CHECK(memory.Reserve(size).ok());
  };
  use(kPage);
  const int64_t freed = CallsOf("cuMemFreeAsync");
  const int64_t allocated = CallsOf("cuMemAllocAsync");
  use(9 * kPage);
  use(kPage);
  CHECK_EQ(CallsOf("cuMemFreeAsync"), freed);
  CHECK_EQ(CallsOf("cuMemAllocAsync"), allocated);
  // If the device runs out of memory, idle memory is freed.
  FailOnce("cuMemAlloc_v2", 2);
  use(9 * kPage);
  CHECK_EQ(CallsOf("cuMemFreeAsync"), freed + 1);
}

TEST(gpu_pinned_memory_of_sizes_that_nobody_asks_for_makes_room_for_others) {
  const ScopedLimits limits(8 * kPage, Gpu::kMostDeviceBytes);
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  const uint64_t plain = Gpu::PinnedCounts().plain_blocks;
  {
    BlockRef small[4];
    for (BlockRef& one : small) one = gpu->Pinned(1);
    CHECK_EQ(Gpu::PinnedCounts().used_bytes, 4 * kPage);
    // Four pages are left, so this is plain memory while the others are used.
    CHECK(gpu->Pinned(8 * kPage)->kind() == MemoryKind::kHost);
    CHECK_EQ(Gpu::PinnedCounts().plain_blocks, plain + 1);
    // A request larger than the limit does not free the others.
    small[0].reset();
    CHECK(gpu->Pinned(16 * kPage)->kind() == MemoryKind::kHost);
  }
  const int64_t freed = CallsOf("cuMemFreeHost");
  // It frees no more than necessary.
  {
    const BlockRef two = gpu->Pinned(2 * kPage);
    const BlockRef other_two = gpu->Pinned(2 * kPage);
    CHECK(two->kind() == MemoryKind::kPinned);
    CHECK(other_two->kind() == MemoryKind::kPinned);
    CHECK_EQ(CallsOf("cuMemFreeHost") - freed, 0);
  }
  const BlockRef large = gpu->Pinned(8 * kPage);
  CHECK(large->kind() == MemoryKind::kPinned);
  CHECK_EQ(CallsOf("cuMemFreeHost") - freed, 6);
  CHECK_EQ(Gpu::PinnedCounts().plain_blocks, plain + 2);
}

TEST(gpu_pinned_memory_that_is_idle_is_given_back_when_the_system_has_no_more) {
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  CHECK(gpu->Pinned(kPage)->kind() == MemoryKind::kPinned);
  FailOnce("cuMemHostAlloc", 2);
  const int64_t freed = CallsOf("cuMemFreeHost");
  const uint64_t plain = Gpu::PinnedCounts().plain_blocks;
  CHECK(gpu->Pinned(2 * kPage)->kind() == MemoryKind::kPinned);
  CHECK_EQ(CallsOf("cuMemFreeHost") - freed, 1);
  CHECK_EQ(Gpu::PinnedCounts().plain_blocks, plain);
}

TEST(gpu_memory_that_is_idle_is_given_back_when_the_device_has_no_more) {
  const auto gpu = OpenGpu();
  const Gpu::Current current(*gpu);
  {
    device::DeviceMemory idle(gpu);
    CHECK(idle.Reserve(kPage).ok());
  }
  FailOnce("cuMemAllocAsync", 2);
  const int64_t freed = CallsOf("cuMemFreeAsync");
  device::DeviceMemory memory(gpu);
  CHECK(memory.Reserve(2 * kPage).ok());
  CHECK_EQ(CallsOf("cuMemFreeAsync") - freed, 1);
}

TEST(gpu_memory_is_pooled_without_stream_ordered_allocation) {
  const ScopedVariable none("TRITONTS_FAKE_MEMORY_POOLS", "0");
  const int64_t ordered = CallsOf("cuMemAllocAsync");
  const uint64_t plain = Gpu::DeviceCounts(0).plain_blocks;
  {
    PlanBench bench;
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
    CHECK(bench.Answered(0, 1));
  }
  CHECK_EQ(CallsOf("cuMemAllocAsync"), ordered);
  CHECK_EQ(Gpu::DeviceCounts(0).plain_blocks, plain);
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test

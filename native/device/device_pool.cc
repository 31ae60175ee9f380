#include "device_pool.h"

#include <algorithm>
#include <memory>
#include <new>

#include "gpu.h"
#include "pool_counts.h"

namespace tritonts::device {

PoolLimit& DeviceLimit(int id) {
  struct Limits {
    std::vector<std::unique_ptr<PoolLimit>> all;
    Limits() {
      for (int i = 0; i < Gpu::kLimits; i++)
        all.push_back(std::make_unique<PoolLimit>(Gpu::kMostDeviceBytes));
    }
  };
  static auto* const limits = new Limits();
  return *limits->all[static_cast<size_t>(std::clamp(id, 0, Gpu::kLimits - 1))];
}

void Gpu::LimitDevice(int id, size_t bytes) {
  DeviceLimit(id).limit = bytes;
}

Gpu::PoolCounts Gpu::DeviceCounts(int id) {
  const PoolLimit& counts = DeviceLimit(id);
  return {counts.limit, counts.used, counts.plain};
}

bool DevicePool::TakeIdle(size_t size_class, Range* range) {
  const std::lock_guard lock(mutex_);
  std::vector<Range>& idle = idle_[size_class];
  if (idle.empty()) return false;
  *range = idle.back();
  idle.pop_back();
  return true;
}

StatusOr<DevicePool::Range> DevicePool::Take(size_t size) {
  if (size > SIZE_MAX / 4)
    return Status::Unavailable(Reason::kNoMemory,
                               "no device memory for " + std::to_string(size) + " bytes");
  PoolLimit& counts = DeviceLimit(gpu_.id());
  Range range{0, RoundedSize(size), true};
  if (TakeIdle(SizeClass(size), &range)) {
    counts.used += range.size;
    return range;
  }
  const std::lock_guard lock(driver_mutex_);
  if (!MakeRoom(range.size)) {
    counts.plain++;
    Status status = AllocateApart(size, &range);
    if (!status.ok()) return status;
    return range;
  }
  Status status = Allocate(range.size, &range.address);
  // Idle ranges may have exhausted the memory: free them and retry.
  if (!status.ok() && FreeIdle()) status = Allocate(range.size, &range.address);
  if (!status.ok()) return status;
  counts.owned += range.size;
  counts.used += range.size;
  return range;
}

Status DevicePool::AllocateApart(size_t size, Range* range) {
  // The range is not reused, so its size is not rounded up to a size class.
  const size_t step = std::max<size_t>(RoundedSize(size) / 16, 4096);
  *range = {0, (size + step - 1) / step * step, false};
  const auto allocate = [&] {
    return gpu_.Check(gpu_.call().MemAlloc(&range->address, range->size), "cuMemAlloc");
  };
  Status status = allocate();
  if (!status.ok() && FreeIdle()) status = allocate();
  return status;
}

bool DevicePool::Recycle(const Range& range) try {
  if (!range.pooled) return false;
  const std::lock_guard lock(mutex_);
  idle_[SizeClass(range.size)].push_back(range);
  DeviceLimit(gpu_.id()).used -= range.size;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void DevicePool::Give(const Range& range) {
  if (Recycle(range)) return;
  if (!range.pooled) {
    // A call on a lost device fails and frees nothing.
    (void)gpu_.call().MemFree(range.address);
    return;
  }
  const std::lock_guard lock(driver_mutex_);
  DeviceLimit(gpu_.id()).used -= range.size;
  Free(range);
}

Status DevicePool::Allocate(size_t size, cuda::Address* address) {
  if (!stream_ordered_) return gpu_.Check(gpu_.call().MemAlloc(address, size), "cuMemAlloc");
  if (!stream_) {
    auto stream = gpu_.MakeStream();
    if (!stream.ok()) return stream.status();
    stream_ = stream.value();
  }
  Status status = gpu_.Check(gpu_.call().MemAllocAsync(address, size, stream_), "cuMemAllocAsync");
  if (!status.ok()) return status;
  // From now on other streams may use the memory. This stream has no other work, so the wait is
  // short.
  status = gpu_.Check(gpu_.call().StreamSynchronize(stream_), "cuStreamSynchronize");
  if (!status.ok()) (void)gpu_.call().MemFreeAsync(*address, stream_);
  return status;
}

void DevicePool::Free(const Range& range) {
  // A call on a lost device fails and frees nothing.
  if (stream_ordered_) {
    (void)gpu_.call().MemFreeAsync(range.address, stream_);
  } else {
    (void)gpu_.call().MemFree(range.address);
  }
  DeviceLimit(gpu_.id()).owned -= range.size;
}

bool DevicePool::FreeLargestIdle() {
  Range range;
  for (size_t i = kSizes; i > 0; i--) {
    if (!TakeIdle(i - 1, &range)) continue;
    Free(range);
    return true;
  }
  return false;
}

bool DevicePool::MakeRoom(size_t size) {
  const PoolLimit& counts = DeviceLimit(gpu_.id());
  while (true) {
    const size_t limit = counts.limit;
    // If the size can never fit, free nothing.
    if (size > limit) return false;
    if (counts.owned <= limit - size) return true;
    if (!FreeLargestIdle()) return false;
  }
}

bool DevicePool::FreeIdle() {
  if (!FreeLargestIdle()) return false;
  while (FreeLargestIdle()) continue;
  // The driver keeps stream-ordered frees until a thread waits for the stream.
  if (stream_) (void)gpu_.call().StreamSynchronize(stream_);
  return true;
}

void DevicePool::End() {
  const std::lock_guard lock(driver_mutex_);
  (void)FreeIdle();
  if (stream_) (void)gpu_.call().StreamDestroy(stream_);
  stream_ = nullptr;
}

Status DeviceMemory::Reserve(size_t size) {
  if (size <= range_.size) return Status::Ok();
  Free();
  auto range = gpu_->memory().Take(size);
  if (!range.ok()) return range.status();
  range_ = range.value();
  return Status::Ok();
}

void DeviceMemory::Free() {
  if (range_.address != 0) gpu_->memory().Give(range_);
  range_ = {};
}

}  // namespace tritonts::device

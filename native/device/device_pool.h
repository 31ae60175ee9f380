// A pool of a GPU's memory for tensors. Freed ranges are kept for reuse, up to a limit
// (cudaMemoryPoolByteSize). Allocations beyond the limit go to the driver, which may wait for all
// work on the device; they are counted.
//
// Thread-safe. The GPU's context must be current.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "driver.h"

namespace tritonts::device {

class Gpu;

class DevicePool {
 public:
  struct Range {
    cuda::Address address = 0;
    size_t size = 0;
    bool pooled = false;
  };

  // `stream_ordered`: the driver can free memory without waiting for the device.
  DevicePool(const Gpu& gpu, bool stream_ordered) : gpu_(gpu), stream_ordered_(stream_ordered) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  bool stream_ordered() const { return stream_ordered_; }
  // Allocates memory of at least this size.
  StatusOr<Range> Take(size_t size);
  // Frees a range. No work on the device may use it any more.
  void Give(const Range& range);
  // Takes a freed range back for reuse, without calling the driver, and so without the context.
  // Returns false if the range needs Give instead.
  bool Recycle(const Range& range);
  // Frees all idle ranges. Take must not be called afterwards.
  void End();

 private:
  static constexpr size_t kSizes = 64;

  // Takes an idle range of this size class. Returns false if there is none.
  bool TakeIdle(size_t size_class, Range* range);
  // These functions call the driver, and require driver_mutex_ only.
  Status Allocate(size_t size, cuda::Address* address);
  // Allocates memory that the pool will not keep.
  Status AllocateApart(size_t size, Range* range);
  void Free(const Range& range);
  // Frees idle ranges, the largest first, until `size` more bytes fit within the limit. Returns
  // false if they cannot fit.
  bool MakeRoom(size_t size);
  // Frees the largest idle range. Returns false if there is none.
  bool FreeLargestIdle();
  // Frees all idle ranges, so that other allocations can succeed. Returns false if there were none.
  bool FreeIdle();

  const Gpu& gpu_;
  const bool stream_ordered_;
  std::mutex driver_mutex_;        // guards stream_; held during driver calls
  cuda::Stream stream_ = nullptr;  // the stream that orders allocations
  std::mutex mutex_;               // guards idle_; not held during driver calls
  std::array<std::vector<Range>, kSizes> idle_;
};

}  // namespace tritonts::device

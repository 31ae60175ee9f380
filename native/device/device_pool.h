// The memory of a GPU for tensors. What is given back is kept for the next one, up to a limit
// (cudaMemoryPoolByteSize). Beyond that the driver is asked for each, which may wait for all that
// the device does, and which is counted.
//
// Any thread may call it, with the context current.
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

  // `stream_ordered`: the driver can free without waiting for the device.
  DevicePool(const Gpu& gpu, bool stream_ordered) : gpu_(gpu), stream_ordered_(stream_ordered) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  bool stream_ordered() const { return stream_ordered_; }
  // Memory of at least this size.
  StatusOr<Range> Take(size_t size);
  // Nothing on the device may use it any more.
  void Give(const Range& range);
  // The same without the driver, and so without the context. False: it has to be given.
  bool Keep(const Range& range);
  // Frees what nobody has. Nothing may be taken afterwards.
  void End();

 private:
  static constexpr size_t kSizes = 64;

  // Takes an idle range of these sizes. False: there is none.
  bool TakeIdle(size_t size_class, Range* range);
  // Those below call the driver, with driver_mutex_ only.
  Status Allocate(size_t size, cuda::Address* address);
  // Memory that the pool does not keep.
  Status AllocateApart(size_t size, Range* range);
  void Free(const Range& range);
  // Frees idle ranges, the largest first, until so many bytes fit beside what the pools own. False:
  // they do not.
  bool MakeRoom(size_t size);
  // Frees the largest idle range. False: there is none.
  bool FreeLargestIdle();
  // Frees all, so that others may have the memory. False: there was none.
  bool FreeIdle();

  const Gpu& gpu_;
  const bool stream_ordered_;
  std::mutex driver_mutex_;        // guards stream_; held while the driver is asked
  cuda::Stream stream_ = nullptr;  // that allocations are ordered by
  std::mutex mutex_;               // guards idle_; nobody waits for the driver with it
  std::array<std::vector<Range>, kSizes> idle_;
};

}  // namespace tritonts::device

// A kernel that gathers pieces of memory, where one copy each would take longer
// (optimization.gather_kernel_buffer_threshold).
#pragma once

#include <memory>

#include "driver.h"

namespace tritonts::device {

class Gpu;

class GatherKernel {
 public:
  // A piece: addresses of the device's memory, or of pinned memory. As the kernel reads it.
  struct Piece {
    cuda::Address from = 0;
    cuda::Address to = 0;
    uint64_t size = 0;
  };

  // Has the driver compile it, for a GPU that outlives it. Needs the context current, as does its
  // end.
  static StatusOr<std::unique_ptr<GatherKernel>> Load(const Gpu& gpu);
  ~GatherKernel();
  GatherKernel(const GatherKernel&) = delete;
  GatherKernel& operator=(const GatherKernel&) = delete;

  // Enqueues it for `count` pieces, the largest of which has `largest` bytes. They are in pinned
  // memory, and stay until it has run. For a submission thread.
  Status Launch(const Piece* pieces, size_t count, size_t largest, cuda::Stream stream) const;

 private:
  explicit GatherKernel(const Gpu& gpu) : gpu_(gpu) {}

  const Gpu& gpu_;
  cuda::Module module_ = nullptr;
  cuda::Kernel kernel_ = nullptr;
};

}  // namespace tritonts::device

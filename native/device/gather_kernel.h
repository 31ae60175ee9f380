// A kernel that gathers pieces of memory, if separate copies would take longer
// (optimization.gather_kernel_buffer_threshold).
#pragma once

#include <memory>

#include "driver.h"

namespace tritonts::device {

class Gpu;

class GatherKernel {
 public:
  // A piece: addresses in device memory or pinned memory. The layout is the kernel's.
  struct Piece {
    cuda::Address from = 0;
    cuda::Address to = 0;
    uint64_t size = 0;
  };

  // Has the driver compile the kernel, for a GPU that must outlive it. The context must be current,
  // also in the destructor.
  static StatusOr<std::unique_ptr<GatherKernel>> Load(const Gpu& gpu);
  ~GatherKernel();
  GatherKernel(const GatherKernel&) = delete;
  GatherKernel& operator=(const GatherKernel&) = delete;

  // Enqueues the kernel for `count` pieces, the largest of which has `largest` bytes. `pieces` lies
  // in pinned memory, and must stay valid until the kernel has run. For a submission thread.
  Status Launch(const Piece* pieces, size_t count, size_t largest, cuda::Stream stream) const;

 private:
  explicit GatherKernel(const Gpu& gpu) : gpu_(gpu) {}

  const Gpu& gpu_;
  cuda::Module module_ = nullptr;
  cuda::Kernel kernel_ = nullptr;
};

}  // namespace tritonts::device

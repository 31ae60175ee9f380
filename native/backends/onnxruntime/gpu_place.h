// The resources of a session on a GPU: a stream on which all its runs compute, and a thread on
// which they are called.
//
// The session has its own thread, because the runtime may block in a run: it waits for the device
// when the CPU reads a tensor, or when a shape depends on data. On the GPU's submission thread this
// would delay all other models of the GPU. All instances of the session use the same thread,
// because their runs share the stream, and because the runtime keeps CUDA graphs and handles of
// CUDA's libraries per thread.
#pragma once

#include <atomic>
#include <memory>

#include "../../device/gpu.h"
#include "engine/base/status.h"

namespace tritonts::onnxruntime {

class GpuPlace {
 public:
  // UNAVAILABLE: the GPU cannot be opened, or is lost. Not on a JS thread.
  static StatusOr<std::unique_ptr<GpuPlace>> Make(int device, device::Gpu::Priority priority);
  // Destroy it after the session. Joins the thread.
  ~GpuPlace();
  GpuPlace(const GpuPlace&) = delete;
  GpuPlace& operator=(const GpuPlace&) = delete;

  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  device::cuda::Stream stream() const { return stream_; }
  device::Submission& submission() { return submission_; }
  // Why a synchronous run failed: `status`, or the GPU is lost.
  Status WhyFailed(const Status& status);
  // Returns a CUDA graph number that is unique in the session.
  int NewGraph() { return next_graph_++; }

 private:
  explicit GpuPlace(std::shared_ptr<device::Gpu> gpu) : gpu_(std::move(gpu)) {}

  const std::shared_ptr<device::Gpu> gpu_;
  device::cuda::Stream stream_ = nullptr;
  device::Submission submission_;
  std::atomic<int> next_graph_{1};
};

}  // namespace tritonts::onnxruntime

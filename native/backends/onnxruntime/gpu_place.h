// What a session on a GPU has there: a stream that all of its runs compute on, and a thread that
// they are called on.
//
// The thread is the session's own, because the runtime may block in a run: it waits for the device
// where it reads a tensor on the processor, or works out a shape that depends on data. On the GPU's
// submission thread, all other models of the GPU would wait, too. It is one thread for all
// instances on the session, because their runs share the stream, and because the runtime keeps CUDA
// graphs and the handles of CUDA's libraries by thread.
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
  // After the session. Joins the thread.
  ~GpuPlace();
  GpuPlace(const GpuPlace&) = delete;
  GpuPlace& operator=(const GpuPlace&) = delete;

  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  device::cuda::Stream stream() const { return stream_; }
  device::Submission& submission() { return submission_; }
  // Why a run failed that was waited for: with `status`, or because the GPU is lost.
  Status WhyFailed(const Status& status);
  // A number for a CUDA graph, which no other one of the session has.
  int NewGraph() { return next_graph_++; }

 private:
  explicit GpuPlace(std::shared_ptr<device::Gpu> gpu) : gpu_(std::move(gpu)) {}

  const std::shared_ptr<device::Gpu> gpu_;
  device::cuda::Stream stream_ = nullptr;
  device::Submission submission_;
  std::atomic<int> next_graph_{1};
};

}  // namespace tritonts::onnxruntime

// A CUDA graph: a stream's work, recorded once and enqueued again by one call. All its addresses
// and sizes are those of the recording.
//
// For the submission thread, with the context current.
#pragma once

#include <memory>
#include <utility>

#include "driver.h"

namespace tritonts::device {

class Gpu;

class Graph {
 public:
  Graph() = default;
  Graph(Graph&& other) noexcept
      : gpu_(std::move(other.gpu_)), work_(std::exchange(other.work_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(work_, other.work_);
    return *this;
  }
  ~Graph();

  // Records the work that `enqueue`, which returns a Status, puts on the stream and on streams that
  // it forks to and joins. The work does not run. Calls that allocate, free or wait make the
  // recording fail. If `enqueue` fails, its status is returned.
  template <typename Enqueue>
  static StatusOr<Graph> Record(std::shared_ptr<Gpu> gpu, cuda::Stream stream,
                                const Enqueue& enqueue) {
    Status status = Begin(*gpu, stream);
    if (!status.ok()) return status;
    Status enqueued;
    try {
      enqueued = enqueue();
    } catch (...) {
      // A stream must not be left recording.
      (void)End(std::move(gpu), stream);
      throw;
    }
    StatusOr<Graph> graph = End(std::move(gpu), stream);
    if (!enqueued.ok()) return enqueued;
    return graph;
  }

  explicit operator bool() const { return work_ != nullptr; }
  // Enqueues the recorded work.
  Status Launch(cuda::Stream stream) const;

 private:
  static Status Begin(const Gpu& gpu, cuda::Stream stream);
  static StatusOr<Graph> End(std::shared_ptr<Gpu> gpu, cuda::Stream stream);

  std::shared_ptr<Gpu> gpu_;
  cuda::GraphWork work_ = nullptr;
};

}  // namespace tritonts::device

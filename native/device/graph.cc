#include "graph.h"

#include "gpu.h"

namespace tritonts::device {

Graph::~Graph() {
  // A call on a lost device fails and frees nothing.
  if (work_) (void)gpu_->call().GraphExecDestroy(work_);
}

Status Graph::Launch(cuda::Stream stream) const {
  return gpu_->Check(gpu_->call().GraphLaunch(work_, stream), "cuGraphLaunch");
}

Status Graph::Begin(const Gpu& gpu, cuda::Stream stream) {
  // Thread-local: other threads may allocate meanwhile.
  return gpu.Check(gpu.call().StreamBeginCapture(stream, cuda::kCaptureThreadLocal),
                   "cuStreamBeginCapture");
}

StatusOr<Graph> Graph::End(std::shared_ptr<Gpu> gpu, cuda::Stream stream) {
  const auto& call = gpu->call();
  cuda::Recording recording = nullptr;
  Status status = gpu->Check(call.StreamEndCapture(stream, &recording), "cuStreamEndCapture");
  if (!status.ok()) return status;
  Graph graph;
  status = gpu->Check(call.GraphInstantiate(&graph.work_, recording, 0), "cuGraphInstantiate");
  (void)call.GraphDestroy(recording);
  if (!status.ok()) {
    graph.work_ = nullptr;
    return status;
  }
  graph.gpu_ = std::move(gpu);
  return graph;
}

}  // namespace tritonts::device

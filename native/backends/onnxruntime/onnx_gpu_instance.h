// An instance of an ONNX model on a GPU. Tensors are bound in the memory that the session prefers:
// device memory, which GpuInstance copies to and from, or pinned host memory. A run is enqueued on
// the session's stream without waiting for it.
//
// From version 1.23 on, the runtime reports which memory it prefers for inputs and outputs. Older
// runtimes get pinned host memory, copy by themselves, and are waited for.
#pragma once

#include <memory>
#include <vector>

#include "../gpu/gpu_instance.h"
#include "graph_runs.h"
#include "model.h"
#include "session.h"

namespace tritonts::onnxruntime {

class OnnxGpuInstance final : public GpuInstance {
 public:
  OnnxGpuInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan);
  ~OnnxGpuInstance() override;
  // Called once, before anything else.
  Status Prepare(const ModelDescription& description);
  void Terminate() override;

 private:
  bool ReadsOnDevice(uint32_t input) const override { return inputs_on_device_[input]; }
  Status Shape(Batch& batch) override;
  Status Launch(Batch& batch, device::cuda::Stream stream) override;
  // Asks the session in which memory it expects its inputs and returns its outputs.
  void FindPlaces(const ModelDescription& description);
  Status RunOnce(Batch& batch);
  Status BindInputs(const Batch& batch);
  Status BindOutputs(const Batch& batch);
  Status RunBound(const Batch& batch);
  // Reads the outputs that the runtime allocated.
  Status TakeOutputs(Batch& batch);
  Status TakeOutput(Batch& batch, uint32_t index, OrtValue* value);
  // Whether a CUDA graph of the bound tensors can be captured; `key` identifies the graph.
  bool KeyOf(const Batch& batch, std::vector<int64_t>* key) const;

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Plan> plan_;
  const Library& library_;
  const Table& table_;
  OrtMemoryInfo* device_memory_ = nullptr;
  OrtIoBinding* binding_ = nullptr;
  GraphRuns runs_;
  bool asynchronous_ = false;  // the runtime reports the places
  std::vector<bool> inputs_on_device_;
  std::vector<bool> outputs_on_device_;
  // By output: do not bind its memory, because the model declares a wrong shape.
  std::vector<bool> never_bound_;
};

}  // namespace tritonts::onnxruntime

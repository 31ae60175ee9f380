// Instances of ONNX models on a GPU. Tensors are bound where the session wants them: in device
// memory of ours, which GpuInstance copies from and to, or in pinned memory of the host. A run is
// enqueued on the session's stream and not waited for.
//
// The runtime tells from version 1.23 on where it wants inputs and has outputs. Where it does not,
// it gets pinned memory of the host, copies by itself, and waits for the run.
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
  // Asks the session where it wants its inputs and has its outputs.
  void FindPlaces(const ModelDescription& description);
  Status RunOnce(Batch& batch);
  Status BindInputs(const Batch& batch);
  Status BindOutputs(const Batch& batch);
  Status RunBound(const Batch& batch);
  // Reads the outputs that the runtime allocated.
  Status TakeOutputs(Batch& batch);
  Status TakeOutput(Batch& batch, uint32_t index, OrtValue* value);
  // Whether a CUDA graph of the bound tensors can be captured; `key` says which one it is.
  bool KeyOf(const Batch& batch, std::vector<int64_t>* key) const;

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Plan> plan_;
  const Library& library_;
  const Table& table_;
  OrtMemoryInfo* device_memory_ = nullptr;
  OrtIoBinding* binding_ = nullptr;
  GraphRuns runs_;
  bool asynchronous_ = false;  // the runtime tells of the places
  std::vector<bool> inputs_on_device_;
  std::vector<bool> outputs_on_device_;
  // By output: its memory is not bound, because the model declares a shape that is wrong.
  std::vector<bool> never_bound_;
};

}  // namespace tritonts::onnxruntime

// An instance on a GPU. It is asynchronous: Execute only lists it for the GPU's submission thread.
//
//   any thread   Execute: the run is kept, and the instance submitted
//   submission   Enqueue: gather in pinned memory; copy to the device; run the plan; copy back
//   finishing    Finish: outputs to their requests; the instance is free
//
// It has one batch at a time, and what that needs belongs to whoever has the batch.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "engine/running/collector.h"

namespace tritonts::tensorrt {

// What the instances of a model have in common.
struct Plan {
  std::string model;
  bool batching = false;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

class TensorRtInstance final : public Instance,
                               private MemoryCopier,
                               private device::Gpu::Job,
                               private device::Gpu::Ticket {
 public:
  TensorRtInstance(std::shared_ptr<const Engine> engine, std::shared_ptr<const Plan> plan);
  ~TensorRtInstance() override;
  Status Prepare();

  bool asynchronous() const override { return true; }
  void Execute(Run& run) override;
  void Terminate() override { terminated_ = true; }
  MemoryCopier* memory() override { return this; }

 private:
  // A tensor's places.
  struct Input {
    Gathered gathered;
    device::DeviceMemory device;
  };
  struct Output {
    device::DeviceMemory device;
    BlockRef staging;
    std::vector<int64_t> shape;
    size_t bytes = 0;
    bool wanted = false;
  };

  // MemoryCopier, for the collector: pinned memory. The processor copies to it.
  BlockRef Allocate(MemoryKind kind, int device, size_t size) override;
  bool Copies(MemoryKind, MemoryKind) const override { return false; }
  Status Copy(const Buffer& from, const Buffer& to) override;

  void Enqueue() override;
  void Finish(const Status& status) override;

  Status EnqueueBatch(Run& run);
  Status EnqueueInput(Run& run, uint32_t index);
  Status PlaceOutput(Run& run, uint32_t index);
  Status EnqueueOutput(uint32_t index);
  Status GiveOutput(Run& run, uint32_t index);
  // Answers the run, and frees the instance, which may be destroyed then.
  void End(const Status& status);

  const std::shared_ptr<const Engine> engine_;
  const std::shared_ptr<const Plan> plan_;
  device::Gpu& gpu_;
  Object* context_ = nullptr;
  device::cuda::Stream stream_ = nullptr;
  device::cuda::Event event_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::atomic<bool> terminated_{false};
  RunRef run_;  // the batch under way
};

}  // namespace tritonts::tensorrt

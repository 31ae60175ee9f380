// An instance of a plan on a GPU (../gpu/gpu_instance.h says how its batches get there and back).
#pragma once

#include <memory>
#include <vector>

#include "../gpu/gpu_instance.h"
#include "contexts.h"
#include "engine.h"
#include "output_allocator.h"

namespace tritonts::tensorrt {

class TensorRtInstance final : public GpuInstance {
 public:
  TensorRtInstance(std::shared_ptr<const Engine> engine, std::shared_ptr<const GpuModel> model);
  ~TensorRtInstance() override;
  Status Prepare(const std::vector<int32_t>& profiles);

 private:
  Status Shape(Batch& batch) override;
  Status Launch(Batch& batch, device::cuda::Stream stream) override;
  Status SetInput(Batch& batch, size_t index);
  // Sets an output's shape, or prepares to be told it.
  Status ShapeOutput(Batch& batch, uint32_t index);
  Status Place(const char* what, const std::string& name, uintptr_t address);

  const std::shared_ptr<const Engine> engine_;
  // Lanes share the contexts: what is enqueued has the addresses that it was enqueued with.
  std::unique_ptr<Contexts> contexts_;
  // The tensors of the plan, as the model's inputs and outputs are ordered.
  std::vector<const PlanTensor*> inputs_;
  std::vector<const PlanTensor*> outputs_;
  // Of the batch that is enqueued.
  Object* context_ = nullptr;
  std::vector<Contexts::Given> given_;
  std::vector<std::vector<int64_t>> values_;
  // By output; null: its shape was always known before it was computed.
  std::vector<std::unique_ptr<OutputAllocator>> allocators_;
  std::vector<bool> told_late_;  // by output: whether the allocator is used for this batch
};

}  // namespace tritonts::tensorrt

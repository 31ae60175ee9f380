// An instance of a plan on a GPU (../gpu/gpu_instance.h says how its batches get there and back).
#pragma once

#include <memory>

#include "../gpu/gpu_instance.h"
#include "engine.h"

namespace tritonts::tensorrt {

class TensorRtInstance final : public GpuInstance {
 public:
  TensorRtInstance(std::shared_ptr<const Engine> engine, std::shared_ptr<const GpuModel> model);
  ~TensorRtInstance() override;
  Status Prepare();

 private:
  Status Shape(Batch& batch) override;
  Status Launch(Batch& batch, device::cuda::Stream stream) override;
  Status ShapeInput(const Input& input, const std::string& name);

  const std::shared_ptr<const Engine> engine_;
  // Lanes share it: what is enqueued has the addresses that it was enqueued with.
  Object* context_ = nullptr;
};

}  // namespace tritonts::tensorrt

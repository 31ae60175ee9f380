// The execution contexts of an instance: one for each profile that it uses. They share device
// memory, because an instance runs its batches on one stream, one after the other.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine.h"

namespace tritonts::tensorrt {

class Contexts {
 public:
  explicit Contexts(std::shared_ptr<const Engine> engine)
      : engine_(std::move(engine)), memory_(engine_->gpu()) {}
  // Needs the GPU's context current.
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // Makes them, and sets their profiles on the stream. INVALID_ARG: the plan has no such profile.
  // Needs the GPU's context current.
  Status Make(const std::vector<int32_t>& profiles, device::cuda::Stream stream);

  // Inputs of a batch: their shapes, and the values of shape tensors. As many as the plan has.
  struct Given {
    const PlanTensor* tensor;
    std::span<const int64_t> shape;
    std::span<const int64_t> values;
  };
  // The context whose profile takes them. Of several it is the one whose best shapes are nearest,
  // and of equals the first. INVALID_ARG: none takes them, and why.
  StatusOr<Object*> Choose(std::span<const Given> inputs) const;

  struct OfProfile {
    int32_t profile;
    Object* context;
  };
  const std::vector<OfProfile>& all() const { return all_; }

 private:
  Status Refuse(std::span<const Given> inputs) const;

  const std::shared_ptr<const Engine> engine_;
  device::DeviceMemory memory_;
  std::vector<OfProfile> all_;
};

}  // namespace tritonts::tensorrt

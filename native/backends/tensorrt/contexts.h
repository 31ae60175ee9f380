// The execution contexts of an instance, one per profile that it uses. They share device memory,
// because an instance runs its batches one after the other on one stream.
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
  // The GPU's context must be current.
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // Creates the contexts and sets their profiles on the stream. INVALID_ARG if the plan lacks a
  // profile. The GPU's context must be current.
  Status Make(const std::vector<int32_t>& profiles, device::cuda::Stream stream);

  // An input of a batch: its shape, and the values if it is a shape tensor. Choose gets one for
  // each input of the plan.
  struct Given {
    const PlanTensor* tensor;
    std::span<const int64_t> shape;
    std::span<const int64_t> values;
  };
  // Returns the context whose profile accepts the inputs. If several do, the one whose optimal
  // shapes are nearest wins, then the first. INVALID_ARG, with the reason, if no profile accepts
  // them.
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

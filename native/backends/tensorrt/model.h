// A plan that is loaded on one GPU or more.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "settings.h"

namespace tritonts::tensorrt {

class TensorRtModel final : public Model {
 public:
  // `engines`: one a GPU, of the same plan.
  TensorRtModel(Settings settings, const Library* library,
                std::vector<std::shared_ptr<const Engine>> engines)
      : settings_(std::move(settings)),
        library_(library),
        plugins_(library->plugins()),
        engines_(std::move(engines)) {}

  ModelDescription Describe() const override;
  Status Configure(const ModelIo& io) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  std::map<std::string, std::string> Info() const override;

 private:
  const std::vector<PlanTensor>& tensors() const { return engines_.front()->tensors(); }
  // The most rows that each instance takes; 0: it has no batches.
  uint32_t MostRows() const;
  // INVALID_ARG, UNSUPPORTED: the plan can't have the graphs that it is to have.
  Status ConfigureGraphs(const ModelIo& io);
  Status Match(const TensorSpec& spec, bool is_input) const;

  const Settings settings_;
  const Library* const library_;
  const std::string plugins_;
  const std::vector<std::shared_ptr<const Engine>> engines_;
  std::shared_ptr<const GpuModel> model_;
  std::vector<GraphSpec> graphs_;
};

}  // namespace tritonts::tensorrt

// A plan that is loaded on one GPU or more, or a plan for each of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../gpu/device_files.h"
#include "engine.h"
#include "settings.h"

namespace tritonts::tensorrt {

class TensorRtModel final : public Model {
 public:
  // `engines`: one a GPU; `files`: theirs.
  TensorRtModel(Settings settings, const Library* library,
                std::vector<std::shared_ptr<const Engine>> engines, DescribedFiles files)
      : settings_(std::move(settings)),
        library_(library),
        plugins_(library->plugins()),
        engines_(std::move(engines)),
        files_(std::move(files)) {}

  // Of one engine, with the instances that the settings have.
  static ModelDescription DescriptionOf(const Engine& engine, const Settings& settings);
  ModelDescription Describe() const override { return files_.Describe(); }
  Status Configure(const ModelIo& io) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  std::map<std::string, std::string> Info() const override;

 private:
  const std::vector<PlanTensor>& tensors() const { return engines_.front()->tensors(); }
  // INVALID_ARG, which names both files: GPUs whose profiles take other shapes get the same
  // requests.
  Status CheckProfiles(const ModelIo& io) const;
  // INVALID_ARG, UNSUPPORTED: the plan can't have the graphs that it is to have.
  Status ConfigureGraphs(const ModelIo& io);
  Status Match(const TensorSpec& spec, bool is_input, bool batching) const;

  const Settings settings_;
  const Library* const library_;
  const std::string plugins_;
  const std::vector<std::shared_ptr<const Engine>> engines_;
  const DescribedFiles files_;
  std::shared_ptr<const GpuModel> model_;
  std::vector<GraphSpec> graphs_;
};

}  // namespace tritonts::tensorrt

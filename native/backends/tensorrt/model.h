// A plan loaded on one or more GPUs, or a separate plan for each GPU.
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
  // `engines`: one per GPU; `files`: the descriptions of their files.
  TensorRtModel(Settings settings, const Library* library,
                std::vector<std::shared_ptr<const Engine>> engines, DescribedFiles files)
      : settings_(std::move(settings)),
        library_(library),
        plugins_(library->plugins()),
        engines_(std::move(engines)),
        files_(std::move(files)) {}

  // Describes one engine, with the instances of the settings.
  static ModelDescription DescriptionOf(const Engine& engine, const Settings& settings);
  ModelDescription Describe() const override { return files_.Describe(); }
  Status Configure(const ModelIo& io, std::string_view) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  std::map<std::string, std::string> Info() const override;

 private:
  const std::vector<PlanTensor>& tensors() const { return engines_.front()->tensors(); }
  // INVALID_ARG, naming both files, if two GPUs' profiles accept different shapes: any GPU may get
  // any request.
  Status CheckProfiles(const ModelIo& io) const;
  // INVALID_ARG, UNSUPPORTED: the plan cannot have the configured graphs.
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

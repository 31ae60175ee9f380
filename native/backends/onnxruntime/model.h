// An ONNX model: its description, and the plan for running it as configured.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../gpu/device_files.h"
#include "../gpu/gpu_instance.h"
#include "engine/backend.h"
#include "session.h"

namespace tritonts::onnxruntime {

struct InputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  ElementType element = ElementType::kUndefined;
  bool scalar = false;  // dims [1] in the configuration, rank 0 in the model
};

struct OutputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  ElementType element = ElementType::kUndefined;
  bool scalar = false;
  // The model has an input of the same name. The runtime then returns the input's own memory, and
  // ignores memory bound for the output.
  bool passthrough = false;
  // As configured. If only the batch dimension varies (`fixed`), the size is known before the run.
  std::vector<int64_t> dims;
  bool fixed = false;
  size_t row_bytes = 0;  // of a row, or of the whole tensor without batching; only if fixed
};

// How a configured model runs. Immutable; the instances share ownership of it.
struct Plan {
  std::string model;
  bool batching = false;
  uint32_t max_batch_size = 0;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
  ModelIo io;  // as configured
  // For instances on GPUs; null if there are none, or if a tensor needs the processor: it has
  // strings, or is not cut by rows.
  std::shared_ptr<const GpuModel> gpu;
};

class OnnxModel final : public Model {
 public:
  // `sessions`: one per device, at least one. `files`: the descriptions of their files.
  // `time_varies` as in GraphFacts.
  OnnxModel(std::string name, std::vector<std::shared_ptr<Session>> sessions, DescribedFiles files,
            std::string time_varies)
      : name_(std::move(name)),
        sessions_(std::move(sessions)),
        files_(std::move(files)),
        description_(files_.Describe()),
        time_varies_(std::move(time_varies)) {}

  ModelDescription Describe() const override { return description_; }
  Status Configure(const ModelIo& io, std::string_view) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  // An instance on a GPU allocates memory there, which takes long.
  bool starts_at_once() const override {
    return sessions_.size() == 1 && sessions_[0]->device() == kCpu;
  }
  bool may_run_again() const override { return true; }
  // A run on a GPU waits for other work there, which must not happen on a JS thread.
  bool time_depends_on_data() const override { return !time_varies_.empty() || on_gpus(); }
  std::map<std::string, std::string> Info() const override;
  std::vector<MemoryUse> Memory() const override;

 private:
  bool on_gpus() const;
  // The settings that instances on GPUs share; null as in Plan.
  std::shared_ptr<const GpuModel> PlanGpu(const ModelIo& io) const;

  const std::string name_;
  const std::vector<std::shared_ptr<Session>> sessions_;
  const DescribedFiles files_;
  const ModelDescription description_;
  const std::string time_varies_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace tritonts::onnxruntime

// An ONNX model: what the runtime knows of it, and the plan for running it as configured.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  // An input of the model by the same name: the runtime hands out the input's own memory, and
  // ignores what it is given for the output.
  bool passthrough = false;
  // As configured. Where nothing but the batch dimension varies, the size is known before the run.
  std::vector<int64_t> dims;
  bool fixed = false;
  size_t row_bytes = 0;  // of one row, or of the whole tensor without batching; for fixed ones
};

// How a configured model runs. Immutable, shared by the instances.
struct Plan {
  std::string model;
  bool batching = false;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
};

class OnnxModel final : public Model {
 public:
  // `sessions` are of one file, one for each device; at least one. `time_varies`: GraphFacts'.
  OnnxModel(std::string name, std::vector<std::shared_ptr<Session>> sessions,
            ModelDescription description, std::string time_varies)
      : name_(std::move(name)),
        sessions_(std::move(sessions)),
        description_(std::move(description)),
        time_varies_(std::move(time_varies)) {}

  ModelDescription Describe() const override { return description_; }
  Status Configure(const ModelIo& io) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  // An instance on a GPU has memory there.
  bool starts_at_once() const override {
    return sessions_.size() == 1 && sessions_[0]->device() == kCpu;
  }
  bool time_depends_on_data() const override { return !time_varies_.empty(); }
  std::map<std::string, std::string> Info() const override;

 private:
  const std::string name_;
  const std::vector<std::shared_ptr<Session>> sessions_;
  const ModelDescription description_;
  const std::string time_varies_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace tritonts::onnxruntime

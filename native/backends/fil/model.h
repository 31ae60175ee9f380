// A loaded model of trees: its compiled forest, which all instances share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiled_forest.h"
#include "engine/backend.h"
#include "evaluator.h"
#include "forest.h"
#include "settings.h"
#include "tree_shap.h"

namespace tritonts::fil {

// What instances need. Immutable once the model is configured, so any thread may use it.
struct LoadedForest {
  std::string model;
  Settings settings;
  CompiledForest compiled;
  std::unique_ptr<const Evaluator> evaluator;
  std::unique_ptr<const TreeShap> shap;  // null: the model has no such output

  // By the configuration.
  bool batching = true;
  AnswerRule rule;
  static constexpr uint32_t kNone = ~0U;
  uint32_t output = kNone;       // the position of output__0
  uint32_t shap_output = kNone;  // of treeshap_output
};

class ForestModel final : public Model {
 public:
  // Reads and compiles the model's file. Throws std::bad_alloc.
  static StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec);

  ModelDescription Describe() const override;
  Status Configure(const ModelIo& io, std::string_view json) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  bool starts_at_once() const override { return true; }
  bool may_run_again() const override { return true; }
  std::map<std::string, std::string> Info() const override;
  std::vector<MemoryUse> Memory() const override;

 private:
  explicit ForestModel(std::shared_ptr<LoadedForest> loaded) : loaded_(std::move(loaded)) {}

  const std::shared_ptr<LoadedForest> loaded_;
};

}  // namespace tritonts::fil

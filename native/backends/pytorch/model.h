// A model in TorchScript: it is read at once, and compared with its configuration when that is
// known.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/backend.h"
#include "library.h"
#include "plan.h"
#include "settings.h"

namespace tritonts::pytorch {

class TorchScriptModel final : public Model {
 public:
  // Opens the library and reads the model.
  static StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec);

  // Empty: the file knows no shapes and no types.
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo& io, std::string_view json) override;
  // Unless instances share one module, each reads the file again, as in Triton: a module may have
  // state.
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  bool may_run_again() const override { return plan_ && !plan_->has_effects; }
  bool time_depends_on_data() const override { return plan_ && plan_->branches; }
  std::map<std::string, std::string> Info() const override;

 private:
  TorchScriptModel(const ModelSpec& spec, Library& library, Settings settings);
  StatusOr<std::shared_ptr<const Module>> ReadModule() const;

  const std::string name_;
  const std::string path_;
  Library& library_;
  const Settings settings_;
  const std::shared_ptr<const std::string> bytes_;  // null: the model is in a file
  std::shared_ptr<const Module> module_;            // for the next instance, or for all
  std::shared_ptr<const Plan> plan_;
};

}  // namespace tritonts::pytorch

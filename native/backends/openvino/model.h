// A model of OpenVINO: it is read at once, and compiled when its configuration is known.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiled_model.h"
#include "engine/backend.h"
#include "library.h"
#include "operators.h"
#include "platform/private_folder.h"
#include "ports.h"
#include "settings.h"

namespace tritonts::openvino {

class OpenVinoModel final : public Model {
 public:
  // Opens the library and reads the model.
  static StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec);

  ModelDescription Describe() const override;
  // Gives the model its shapes, and compiles it.
  Status Configure(const ModelIo& io, std::string_view json) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  bool may_run_again() const override { return true; }
  bool time_depends_on_data() const override { return operators_.time_varies; }
  std::map<std::string, std::string> Info() const override;

 private:
  OpenVinoModel(std::string name, const Library& library, Settings settings);

  // The core to read and compile with.
  const OvCore* core() const { return own_core_ ? own_core_->get() : library_.core(); }
  Status MakeCore();
  Status Read(const ModelSpec& spec);
  Status Compile(std::shared_ptr<const Plan> plan);

  const std::string name_;
  const Library& library_;
  const Settings settings_;
  std::shared_ptr<const Core> own_core_;  // if the model has an extension
  platform::PrivateFolder given_;         // files that were given as bytes
  Network network_;
  std::vector<PortFacts> inputs_;
  std::vector<PortFacts> outputs_;
  bool keeps_rows_ = false;
  OperatorFacts operators_;
  std::shared_ptr<const CompiledModel> compiled_;
  uint32_t requests_ = 1;  // of an instance
};

}  // namespace tritonts::openvino

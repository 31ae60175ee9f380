// A model of TensorFlow: its first session is loaded at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/backend.h"
#include "graph_content.h"
#include "library.h"
#include "operators.h"
#include "plan.h"
#include "platform/private_folder.h"
#include "session.h"
#include "settings.h"

namespace tritonts::tensorflow {

class TensorFlowModel final : public Model {
 public:
  // Opens the library and loads the model.
  static StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec);

  ModelDescription Describe() const override;
  Status Configure(const ModelIo& io, std::string_view json) override;
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override;
  bool may_run_again() const override { return operators_.keeps.empty(); }
  // Nothing is known of the operators of other libraries: they may wait, or read files.
  bool time_depends_on_data() const override {
    return !operators_.time_varies.empty() || !settings_.operators.empty();
  }
  std::map<std::string, std::string> Info() const override;

 private:
  TensorFlowModel(std::string name, const Library& library, Settings settings)
      : name_(std::move(name)), library_(library), settings_(std::move(settings)) {}
  Status Read(const ModelSpec& spec);
  // Sets signature_ from the content of the model.
  Status ChooseSignature(const GraphContent& content);
  Status DescribeGraph(const GraphContent& content);
  // Loads a session.
  StatusOr<std::shared_ptr<Session>> NewSession(GraphContent* content) const;

  const std::string name_;
  const Library& library_;
  const Settings settings_;
  platform::PrivateFolder given_;  // files that were given as bytes
  std::string path_;
  Signature signature_;  // of a GraphDef: its placeholders and last operations
  OperatorFacts operators_;
  std::shared_ptr<const Plan> plan_;
  // The session that the next instance gets, and how many have it.
  std::shared_ptr<Session> session_;
  uint32_t users_ = 0;
};

}  // namespace tritonts::tensorflow

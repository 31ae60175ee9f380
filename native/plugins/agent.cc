#include "plugins/agent.h"

#include <filesystem>
#include <system_error>

#include "platform/dynamic_library.h"
#include "platform/error_text.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/message.h"

using tritonts::Status;

namespace {

// The name of the plug-in's folder in the one that TypeScript has made, and removes.
constexpr const char* kAgentFolder = "files";

Status FolderFault(const std::string& path, const char* what, const std::error_code& error) {
  return Status::Internal("'" + path + "' cannot be " + what + ": " +
                          tritonts::platform::ErrorText(error));
}

}  // namespace

TRITONREPOAGENT_AgentModel::TRITONREPOAGENT_AgentModel(Facts facts)
    : facts_(std::move(facts)), own_folder_(facts_.folder + "/" + kAgentFolder) {
  locations_.push_back(facts_.location);
}

const char* TRITONREPOAGENT_AgentModel::Location(TRITONREPOAGENT_ArtifactType* type) {
  const std::lock_guard lock(mutex_);
  // The plug-in moves files to this machine only.
  const bool is_remote = facts_.is_remote && !is_moved_;
  *type =
      is_remote ? TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM : TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
  return locations_.back().c_str();
}

Status TRITONREPOAGENT_AgentModel::Acquire(TRITONREPOAGENT_ArtifactType type,
                                           const char** location) {
  if (type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) {
    return Status::InvalidArg(
        "expected TRITONREPOAGENT_ARTIFACT_FILESYSTEM for a folder of the agent's but received "
        "artifact type " +
        std::to_string(type));
  }
  const std::lock_guard lock(mutex_);
  if (!is_acquired_) {
    std::error_code error;
    std::filesystem::create_directory(tritonts::platform::NativePath(own_folder_), error);
    if (error) return FolderFault(own_folder_, "made", error);
    is_acquired_ = true;
  }
  *location = own_folder_.c_str();
  return Status::Ok();
}

Status TRITONREPOAGENT_AgentModel::Release(const std::string& location) {
  const std::lock_guard lock(mutex_);
  if (!is_acquired_) {
    return Status::Unavailable(tritonts::Reason::kNone,
                               "the agent has acquired no folder for this model to release");
  }
  if (location != own_folder_) {
    return Status::InvalidArg("expected '" + own_folder_ + "' to release but received '" +
                              location + "'");
  }
  std::error_code error;
  std::filesystem::remove_all(tritonts::platform::NativePath(own_folder_), error);
  if (error) return FolderFault(own_folder_, "removed", error);
  is_acquired_ = false;
  return Status::Ok();
}

Status TRITONREPOAGENT_AgentModel::Update(TRITONREPOAGENT_ArtifactType type,
                                          const std::string& location) {
  const std::lock_guard lock(mutex_);
  if (!is_loading_) {
    return Status::InvalidArg("the model's files can be moved only during the action LOAD");
  }
  if (type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) {
    return Status::Unsupported(
        "expected TRITONREPOAGENT_ARTIFACT_FILESYSTEM for the new place of the model's files but "
        "received artifact type " +
        std::to_string(type));
  }
  if (location.empty()) {
    return Status::InvalidArg(
        "expected the path of a folder for the new place of the model's files but received an "
        "empty text");
  }
  locations_.push_back(location);
  is_moved_ = true;
  return Status::Ok();
}

void TRITONREPOAGENT_AgentModel::Begin(TRITONREPOAGENT_ActionType action) {
  const std::lock_guard lock(mutex_);
  is_loading_ = action == TRITONREPOAGENT_ACTION_LOAD;
}

void TRITONREPOAGENT_AgentModel::End() {
  const std::lock_guard lock(mutex_);
  is_loading_ = false;
}

std::string TRITONREPOAGENT_AgentModel::MovedTo() {
  const std::lock_guard lock(mutex_);
  return is_moved_ ? locations_.back() : std::string();
}

namespace tritonts::plugins {

namespace {

Status NoAgentObject(const char* what) {
  return Status::InvalidArg(std::string("expected ") + what + " but received null");
}

constexpr const char* kAgentModelOnly = "the agent's model";
constexpr const char* kAgentPlaces = "the agent's model, and places for the results";

}  // namespace

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocation(
    TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel* model,
    TRITONREPOAGENT_ArtifactType* artifact_type, const char** location) noexcept {
  return Guard([&] {
    if (!model || !location) return NoAgentObject(kAgentPlaces);
    TRITONREPOAGENT_ArtifactType type;
    *location = model->Location(&type);
    if (artifact_type) *artifact_type = type;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationAcquire(
    TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel* model,
    TRITONREPOAGENT_ArtifactType artifact_type, const char** location) noexcept {
  return Guard([&] {
    return model && location ? model->Acquire(artifact_type, location)
                             : NoAgentObject(kAgentPlaces);
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationRelease(
    TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel* model, const char* location) noexcept {
  return Guard([&] {
    return model && location ? model->Release(location)
                             : NoAgentObject("the agent's model and a folder");
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryUpdate(
    TRITONREPOAGENT_Agent*, TRITONREPOAGENT_AgentModel* model,
    TRITONREPOAGENT_ArtifactType artifact_type, const char* location) noexcept {
  return Guard([&] {
    return model && location ? model->Update(artifact_type, location)
                             : NoAgentObject("the agent's model and a folder");
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelParameterCount(TRITONREPOAGENT_Agent*,
                                                        TRITONREPOAGENT_AgentModel* model,
                                                        uint32_t* count) noexcept {
  return Guard([&] {
    if (!model || !count) return NoAgentObject(kAgentPlaces);
    *count = static_cast<uint32_t>(model->facts().parameters.size());
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelParameter(TRITONREPOAGENT_Agent*,
                                                   TRITONREPOAGENT_AgentModel* model,
                                                   uint32_t index, const char** parameter_name,
                                                   const char** parameter_value) noexcept {
  return Guard([&] {
    if (!model) return NoAgentObject(kAgentModelOnly);
    const auto& parameters = model->facts().parameters;
    if (index >= parameters.size()) {
      return Status::InvalidArg("expected the index of one of the " +
                                std::to_string(parameters.size()) +
                                " parameters of the agent but received " + std::to_string(index));
    }
    if (parameter_name) *parameter_name = parameters[index].first.c_str();
    if (parameter_value) *parameter_value = parameters[index].second.c_str();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelConfig(TRITONREPOAGENT_Agent*,
                                                TRITONREPOAGENT_AgentModel* model,
                                                uint32_t config_version,
                                                TRITONSERVER_Message** model_config) noexcept {
  return Guard([&] {
    if (!model || !model_config) return NoAgentObject(kAgentPlaces);
    if (config_version != 1) {
      return Status::Unsupported("expected version 1 of the configuration but received " +
                                 std::to_string(config_version));
    }
    *model_config = new TRITONSERVER_Message{model->facts().config};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelState(TRITONREPOAGENT_AgentModel* model,
                                               void** state) noexcept {
  return Guard([&] {
    if (!model || !state) return NoAgentObject(kAgentPlaces);
    *state = model->state;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelSetState(TRITONREPOAGENT_AgentModel* model,
                                                  void* state) noexcept {
  return Guard([&] {
    if (!model) return NoAgentObject(kAgentModelOnly);
    model->state = state;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_State(TRITONREPOAGENT_Agent* agent, void** state) noexcept {
  return Guard([&] {
    if (!agent || !state) return NoAgentObject("the agent, and a place for its state");
    *state = agent->state;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONREPOAGENT_SetState(TRITONREPOAGENT_Agent* agent, void* state) noexcept {
  return Guard([&] {
    if (!agent) return NoAgentObject("the agent");
    agent->state = state;
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins

#include "plugins/model_object.h"

#include <utility>

#include "json/json.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// The only version of configurations that Triton knows.
Status CheckConfigVersion(uint32_t config_version) {
  if (config_version == 1) return Status::Ok();
  return Status::Unsupported("expected version 1 of the model's configuration, but got version " +
                             std::to_string(config_version));
}

TRITONSERVER_Error* ReportMemory(ReportedMemory* memory, TRITONSERVER_BufferAttributes** usage,
                                 uint32_t usage_size) noexcept {
  return Guard([&]() -> Status {
    std::vector<MemoryUse> uses;
    for (uint32_t i = 0; i < usage_size; i++) {
      if (!usage || !usage[i]) {
        return Status::InvalidArg("the report of memory lacks the attributes at position " +
                                  std::to_string(i));
      }
      const TRITONSERVER_BufferAttributes& one = *usage[i];
      uses.push_back(
          {MemoryKindOf(one.memory_type), static_cast<int>(one.memory_type_id), one.byte_size});
    }
    memory->Set(std::move(uses));
    return Status::Ok();
  });
}

Status NoSuchPart(const char* what, uint32_t index, size_t count) {
  return Status::InvalidArg(std::string("expected an index of the instance's ") + what + " below " +
                            std::to_string(count) + ", but got " + std::to_string(index));
}

// The model of the call that this thread is in.
thread_local const TRITONBACKEND_Model* in_life_call = nullptr;

}  // namespace

LifeCall::LifeCall(const TRITONBACKEND_Model& model)
    : outer_(std::exchange(in_life_call, &model)) {}

LifeCall::~LifeCall() {
  in_life_call = outer_;
}

Status LifeCall::CheckIsOther(const TRITONSERVER_Server* server, const char* name) {
  const TRITONBACKEND_Model* const model = in_life_call;
  if (!model || model->server != server || model->name != name) return Status::Ok();
  return Status::Unavailable(Reason::kCircularCall,
                             "model '" + model->name +
                                 "': its backend asked to load or unload the model in a call that "
                                 "is part of that; it would wait for itself");
}

// --- Models.

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model,
                                            const char** name) noexcept {
  *name = model->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model,
                                               uint64_t* version) noexcept {
  *version = model->version;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* artifact_type,
                                                  const char** location) noexcept {
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->repository.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, uint32_t config_version,
                                              TRITONSERVER_Message** model_config) noexcept {
  return Guard([&]() -> Status {
    Status known = CheckConfigVersion(config_version);
    if (!known.ok()) return known;
    const std::lock_guard lock(model->mutex);
    *model_config = new TRITONSERVER_Message{model->config};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* auto_complete_config) noexcept {
  *auto_complete_config = model->auto_complete;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model,
                                                 uint32_t config_version,
                                                 TRITONSERVER_Message* model_config) noexcept {
  return Guard([&]() -> Status {
    Status known = CheckConfigVersion(config_version);
    if (!known.ok()) return known;
    if (!model->initializing) {
      return Status::InvalidArg("model '" + model->name +
                                "': its configuration can be set only during "
                                "TRITONBACKEND_ModelInitialize");
    }
    if (!model_config) {
      return Status::InvalidArg("model '" + model->name + "': the configuration to set is null");
    }
    const StatusOr<Json> parsed = Json::Parse(model_config->text);
    if (!parsed.ok()) return parsed.status();
    const size_t begin = model_config->text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || model_config->text[begin] != '{') {
      return Status::InvalidArg("model '" + model->name +
                                "': expected a JSON object as its configuration, but got " +
                                model_config->text.substr(0, 100));
    }
    const std::lock_guard lock(model->mutex);
    model->completed = model_config->text;
    model->config = model_config->text;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelServer(TRITONBACKEND_Model* model,
                                              TRITONSERVER_Server** server) noexcept {
  return Guard([&]() -> Status {
    if (!model->server) {
      return Status::Unavailable(Reason::kClosed,
                                 "model '" + model->name + "': its server is closed");
    }
    *server = model->server;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model,
                                               TRITONBACKEND_Backend** backend) noexcept {
  *backend = model->backend.get();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) noexcept {
  *state = model->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) noexcept {
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model* model,
                                                         TRITONSERVER_BufferAttributes** usage,
                                                         uint32_t usage_size) noexcept {
  return ReportMemory(&model->memory, usage, usage_size);
}

// --- Instances.

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance* instance,
                                                    const char** name) noexcept {
  *name = instance->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    TRITONSERVER_InstanceGroupKind* kind) noexcept {
  *kind = instance->kind;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance,
                                                        int32_t* device_id) noexcept {
  *device_id = instance->device;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceHostPolicy(
    TRITONBACKEND_ModelInstance* instance, TRITONSERVER_Message** host_policy) noexcept {
  *host_policy = instance->host_policy.get();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceIsPassive(TRITONBACKEND_ModelInstance* instance,
                                                         bool* is_passive) noexcept {
  *is_passive = instance->passive;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileCount(TRITONBACKEND_ModelInstance* instance,
                                                            uint32_t* count) noexcept {
  *count = static_cast<uint32_t>(instance->profiles.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileName(TRITONBACKEND_ModelInstance* instance,
                                                           uint32_t index,
                                                           const char** profile_name) noexcept {
  return Guard([&]() -> Status {
    if (index >= instance->profiles.size()) {
      return NoSuchPart("profiles", index, instance->profiles.size());
    }
    *profile_name = instance->profiles[index].c_str();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceCount(
    TRITONBACKEND_ModelInstance* instance, uint32_t* count) noexcept {
  *count = static_cast<uint32_t>(instance->secondary.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(
    TRITONBACKEND_ModelInstance* instance, uint32_t index, const char** kind,
    int64_t* id) noexcept {
  return Guard([&]() -> Status {
    if (index >= instance->secondary.size()) {
      return NoSuchPart("secondary devices", index, instance->secondary.size());
    }
    *kind = instance->secondary[index].kind.c_str();
    *id = instance->secondary[index].id;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) noexcept {
  *model = instance->model;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) noexcept {
  *state = instance->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) noexcept {
  instance->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportMemoryUsage(
    TRITONBACKEND_ModelInstance* instance, TRITONSERVER_BufferAttributes** usage,
    uint32_t usage_size) noexcept {
  return ReportMemory(&instance->memory, usage, usage_size);
}

}  // namespace tritonts::plugins

// The notes, and the entry points: what the library, a model and an instance are told.
#include "every.h"

#include <map>
#include <mutex>
#include <set>

using namespace tritonts::plugin;
using namespace tritonts::plugin::every;

namespace tritonts::plugin::every {

namespace {

struct Notes {
  std::mutex mutex;  // guards all below
  std::set<std::string> called;
  std::set<std::string> faults;
  std::map<std::string, std::string> facts;
};

// Never destroyed: threads of the server may call the plug-in while the process exits.
Notes& TheNotes() {
  static auto* const notes = new Notes();
  return *notes;
}

}  // namespace

void Note(const char* function) {
  std::lock_guard lock(TheNotes().mutex);
  TheNotes().called.insert(function);
}

void Fault(const std::string& text) {
  std::lock_guard lock(TheNotes().mutex);
  TheNotes().faults.insert(text);
}

void Fact(const std::string& name, const std::string& value) {
  std::lock_guard lock(TheNotes().mutex);
  TheNotes().facts[name] = value;
}

std::vector<std::string> Called() {
  std::lock_guard lock(TheNotes().mutex);
  return {TheNotes().called.begin(), TheNotes().called.end()};
}

std::vector<std::string> Faults() {
  std::lock_guard lock(TheNotes().mutex);
  return {TheNotes().faults.begin(), TheNotes().faults.end()};
}

std::vector<std::string> Facts() {
  std::lock_guard lock(TheNotes().mutex);
  std::vector<std::string> facts;
  for (const auto& [name, value] : TheNotes().facts) facts.push_back(name + "=" + value);
  return facts;
}

bool Good(const char* function, TRITONSERVER_Error* error) {
  if (!error) return true;
  Fault(std::string(function) + ": " + TRITONSERVER_ErrorCodeString(error) + ": " +
        TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  return false;
}

void Bad(const char* function, TRITONSERVER_Error* error, TRITONSERVER_Error_Code code) {
  if (!error) {
    Fault(std::string(function) + ": succeeded, but must fail");
    return;
  }
  if (TRITONSERVER_ErrorCode(error) != code) {
    Fault(std::string(function) + ": failed with " + TRITONSERVER_ErrorCodeString(error) + ": " +
          TRITONSERVER_ErrorMessage(error));
  }
  TRITONSERVER_ErrorDelete(error);
}

}  // namespace tritonts::plugin::every

namespace {

// The state of a model.
struct ModelState {
  tritonts::Json config;
  std::string name;
  uint64_t version = 0;
  std::string calls;
  bool alone = false;
};

int backend_state = 1;
int instance_state = 3;

std::string Text(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  size_t size = 0;
  GOOD(TRITONSERVER_MessageSerializeToJson, message, &base, &size);
  return std::string(base ? base : "", size);
}

void ReportMemory(TRITONBACKEND_Model* model, TRITONBACKEND_ModelInstance* instance) {
  TRITONSERVER_BufferAttributes* use = nullptr;
  if (!GOOD(TRITONSERVER_BufferAttributesNew, &use)) return;
  GOOD(TRITONSERVER_BufferAttributesSetMemoryType, use, TRITONSERVER_MEMORY_CPU);
  GOOD(TRITONSERVER_BufferAttributesSetMemoryTypeId, use, 0);
  GOOD(TRITONSERVER_BufferAttributesSetByteSize, use, 4321);
  if (model) GOOD(TRITONBACKEND_ModelReportMemoryUsage, model, &use, 1);
  if (instance) GOOD(TRITONBACKEND_ModelInstanceReportMemoryUsage, instance, &use, 1);
  GOOD(TRITONSERVER_BufferAttributesDelete, use);
}

void UseMemory(TRITONBACKEND_Backend* backend) {
  TRITONBACKEND_MemoryManager* manager = nullptr;
  if (!GOOD(TRITONBACKEND_BackendMemoryManager, backend, &manager)) return;
  void* buffer = nullptr;
  if (GOOD(TRITONBACKEND_MemoryManagerAllocate, manager, &buffer, TRITONSERVER_MEMORY_CPU, 0,
           4096)) {
    std::memset(buffer, 1, 4096);
    GOOD(TRITONBACKEND_MemoryManagerFree, manager, buffer, TRITONSERVER_MEMORY_CPU, 0);
  }
  // More than there is, also where the size overflows when it is aligned.
  for (const uint64_t size : {uint64_t{1} << 60, ~uint64_t{0} - 10, ~uint64_t{0}}) {
    BAD(UNAVAILABLE, TRITONBACKEND_MemoryManagerAllocate, manager, &buffer, TRITONSERVER_MEMORY_CPU,
        0, size);
    SAME(buffer, nullptr);
  }
  // Memory that this machine may lack is refused with one of two codes.
  for (const auto kind : {TRITONSERVER_MEMORY_CPU_PINNED, TRITONSERVER_MEMORY_GPU}) {
    buffer = nullptr;
    Error error = CALL(TRITONBACKEND_MemoryManagerAllocate, manager, &buffer, kind, 0, 4096);
    if (!error) {
      GOOD(TRITONBACKEND_MemoryManagerFree, manager, buffer, kind, 0);
      continue;
    }
    const auto code = TRITONSERVER_ErrorCode(error);
    if (code != TRITONSERVER_ERROR_UNSUPPORTED && code != TRITONSERVER_ERROR_UNAVAILABLE) {
      Good("TRITONBACKEND_MemoryManagerAllocate", error);
    } else {
      TRITONSERVER_ErrorDelete(error);
    }
  }
}

void ReadHostPolicy(TRITONBACKEND_ModelInstance* instance) {
  TRITONSERVER_Message* message = nullptr;
  if (!GOOD(TRITONBACKEND_ModelInstanceHostPolicy, instance, &message)) return;
  Fact("instance.hostPolicy", Text(message));
  // The message is the server's.
  BAD(INVALID_ARG, TRITONSERVER_MessageDelete, message);
  SAME(Text(message).empty(), false);
}

// Completes a configuration that has no inputs.
Error Complete(TRITONBACKEND_Model* model, const std::string& name) {
  const std::string text =
      R"({"name":")" + name +
      R"(","max_batch_size":8,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1]}],)"
      R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[-1]},)"
      R"({"name":"called","data_type":"TYPE_STRING","dims":[-1]},)"
      R"({"name":"faults","data_type":"TYPE_STRING","dims":[-1]},)"
      R"({"name":"facts","data_type":"TYPE_STRING","dims":[-1]}]})";
  TRITONSERVER_Message* message = nullptr;
  GOOD(TRITONSERVER_MessageNewFromSerializedJson, &message, text.data(), text.size());
  Error error = CALL(TRITONBACKEND_ModelSetConfig, model, 1, message);
  GOOD(TRITONSERVER_MessageDelete, message);
  return error;
}

}  // namespace

Error TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  uint32_t major = 0;
  uint32_t minor = 0;
  GOOD(TRITONBACKEND_ApiVersion, &major, &minor);
  Fact("backend.version", std::to_string(major) + "." + std::to_string(minor));
  GOOD(TRITONSERVER_ApiVersion, &major, &minor);
  Fact("server.version", std::to_string(major) + "." + std::to_string(minor));
  const char* name = nullptr;
  GOOD(TRITONBACKEND_BackendName, backend, &name);
  Fact("backend.name", name);
  TRITONSERVER_Message* message = nullptr;
  if (GOOD(TRITONBACKEND_BackendConfig, backend, &message)) {
    BAD(INVALID_ARG, TRITONSERVER_MessageDelete, message);
    Fact("backend.config", Text(message));
  }
  TRITONBACKEND_ArtifactType type = static_cast<TRITONBACKEND_ArtifactType>(9);
  const char* location = nullptr;
  GOOD(TRITONBACKEND_BackendArtifacts, backend, &type, &location);
  SAME(type, TRITONBACKEND_ARTIFACT_FILESYSTEM);
  Fact("backend.artifacts", location);
  auto policy = static_cast<TRITONBACKEND_ExecutionPolicy>(9);
  GOOD(TRITONBACKEND_BackendExecutionPolicy, backend, &policy);
  SAME(policy, TRITONBACKEND_EXECUTION_BLOCKING);
  GOOD(TRITONBACKEND_BackendSetExecutionPolicy, backend, TRITONBACKEND_EXECUTION_BLOCKING);
  UseMemory(backend);
  void* state = &backend_state;
  GOOD(TRITONBACKEND_BackendState, backend, &state);
  SAME(state, nullptr);
  GOOD(TRITONBACKEND_BackendSetState, backend, &backend_state);
  GOOD(TRITONBACKEND_BackendState, backend, &state);
  SAME(state, &backend_state);
  Values();
  Refused();
  return nullptr;
}

Error TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend*,
                                        TRITONBACKEND_BackendAttribute* attributes) {
  GOOD(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup, attributes,
       TRITONSERVER_INSTANCEGROUPKIND_CPU, 2, nullptr, 0);
  GOOD(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading, attributes, true);
  return nullptr;
}

Error TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  void* state = nullptr;
  GOOD(TRITONBACKEND_BackendState, backend, &state);
  SAME(state, &backend_state);
  Fact("backend.finalized", "yes");
  return nullptr;
}

Error TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  auto* const state = new ModelState();
  const char* name = nullptr;
  GOOD(TRITONBACKEND_ModelName, model, &name);
  state->name = name ? name : "";
  Fact("model.name", name);
  GOOD(TRITONBACKEND_ModelVersion, model, &state->version);
  Fact("model.version", static_cast<int64_t>(state->version));
  auto type = static_cast<TRITONBACKEND_ArtifactType>(9);
  const char* location = nullptr;
  GOOD(TRITONBACKEND_ModelRepository, model, &type, &location);
  SAME(type, TRITONBACKEND_ARTIFACT_FILESYSTEM);
  Fact("model.repository", location);
  TRITONBACKEND_Backend* backend = nullptr;
  GOOD(TRITONBACKEND_ModelBackend, model, &backend);
  void* found = nullptr;
  GOOD(TRITONBACKEND_BackendState, backend, &found);
  SAME(found, &backend_state);
  found = &backend_state;
  GOOD(TRITONBACKEND_ModelState, model, &found);
  SAME(found, nullptr);
  GOOD(TRITONBACKEND_ModelSetState, model, state);
  GOOD(TRITONBACKEND_ModelState, model, &found);
  SAME(found, state);

  TRITONSERVER_Message* message = nullptr;
  if (!GOOD(TRITONBACKEND_ModelConfig, model, 1, &message)) return nullptr;
  auto before = tritonts::Json::Parse(Text(message));
  GOOD(TRITONSERVER_MessageDelete, message);
  if (!before.ok()) return Fail("the configuration is not JSON");
  bool completes = false;
  GOOD(TRITONBACKEND_ModelAutoCompleteConfig, model, &completes);
  Fact("model.completes", completes ? "yes" : "no");
  if (completes && before.value().Member("input").items().empty()) {
    RETURN_IF_ERROR(Complete(model, state->name));
  }
  // Once again: it is what has been set.
  RETURN_IF_ERROR(ReadConfig(model, &state->config));
  Fact("model.inputs", static_cast<int64_t>(state->config.Member("input").items().size()));
  state->calls = Parameter(state->config, "calls");
  state->alone = !Parameter(state->config, "alone").empty();
  if (!state->alone) {
    TRITONSERVER_Server* server = nullptr;
    GOOD(TRITONBACKEND_ModelServer, model, &server);
    SAME(server == nullptr, false);
  }
  ReportMemory(model, nullptr);
  Numbers(state->name.c_str());
  return nullptr;
}

Error TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  delete StateOf<ModelState>(model);
  Fact("model.finalized", "yes");
  return nullptr;
}

Error TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  const char* name = nullptr;
  GOOD(TRITONBACKEND_ModelInstanceName, instance, &name);
  Fact("instance.name", name);
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
  GOOD(TRITONBACKEND_ModelInstanceKind, instance, &kind);
  Fact("instance.kind", CALL(TRITONSERVER_InstanceGroupKindString, kind));
  int32_t device = -1;
  GOOD(TRITONBACKEND_ModelInstanceDeviceId, instance, &device);
  Fact("instance.device", device);
  ReadHostPolicy(instance);
  bool passive = true;
  GOOD(TRITONBACKEND_ModelInstanceIsPassive, instance, &passive);
  Fact("instance.passive", passive ? "yes" : "no");
  uint32_t profiles = 9;
  GOOD(TRITONBACKEND_ModelInstanceProfileCount, instance, &profiles);
  Fact("instance.profiles", profiles);
  const char* profile = nullptr;
  for (uint32_t i = 0; i < profiles; i++) {
    GOOD(TRITONBACKEND_ModelInstanceProfileName, instance, i, &profile);
    Fact("instance.profile." + std::to_string(i), profile);
  }
  BAD(INVALID_ARG, TRITONBACKEND_ModelInstanceProfileName, instance, profiles, &profile);
  uint32_t secondary = 9;
  GOOD(TRITONBACKEND_ModelInstanceSecondaryDeviceCount, instance, &secondary);
  Fact("instance.secondary", secondary);
  const char* secondary_kind = nullptr;
  int64_t secondary_id = 0;
  for (uint32_t i = 0; i < secondary; i++) {
    GOOD(TRITONBACKEND_ModelInstanceSecondaryDeviceProperties, instance, i, &secondary_kind,
         &secondary_id);
    Fact("instance.secondary." + std::to_string(i),
         secondary_kind + (" " + std::to_string(secondary_id)));
  }
  BAD(INVALID_ARG, TRITONBACKEND_ModelInstanceSecondaryDeviceProperties, instance, secondary,
      &secondary_kind, &secondary_id);
  TRITONBACKEND_Model* model = nullptr;
  GOOD(TRITONBACKEND_ModelInstanceModel, instance, &model);
  void* found = nullptr;
  GOOD(TRITONBACKEND_ModelState, model, &found);
  SAME(found == nullptr, false);
  found = &instance_state;
  GOOD(TRITONBACKEND_ModelInstanceState, instance, &found);
  SAME(found, nullptr);
  GOOD(TRITONBACKEND_ModelInstanceSetState, instance, &instance_state);
  GOOD(TRITONBACKEND_ModelInstanceState, instance, &found);
  SAME(found, &instance_state);
  ReportMemory(nullptr, instance);
  return nullptr;
}

Error TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  SAME(StateOf<int>(instance), &instance_state);
  Fact("instance.asked", "yes");
  return nullptr;
}

Error TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  SAME(StateOf<int>(instance), &instance_state);
  // The model is still there.
  SAME(ModelStateOf<ModelState>(instance) == nullptr, false);
  Fact("instance.finalized", "yes");
  return nullptr;
}

Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                         TRITONBACKEND_Request** requests, uint32_t count) {
  const uint64_t start = Now();
  auto* const state = ModelStateOf<ModelState>(instance);
  if (!state->alone) {
    TRITONBACKEND_Model* model = nullptr;
    TRITONSERVER_Server* server = nullptr;
    GOOD(TRITONBACKEND_ModelInstanceModel, instance, &model);
    GOOD(TRITONBACKEND_ModelServer, model, &server);
    AskServer(server, state->name.c_str(), state->version);
    if (!state->calls.empty()) Ask(server, state->calls.c_str());
  }
  for (uint32_t i = 0; i < count; i++) {
    Read(requests[i]);
    Answer(instance, requests[i], start);
  }
  const uint64_t end = Now();
  GOOD(TRITONBACKEND_ModelInstanceReportBatchStatistics, instance, count, start, start, end, end);
  return nullptr;
}

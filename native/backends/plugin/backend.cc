// Models of Triton's backend plug-ins (native/plugins/). A model has the name of the plug-in as its
// backend.
//
// Settings of Load:
//   library         path of the plug-in's file
//   own_library     path of the package's libtritonserver.so
//   backend         the backend's name
//   backend_config  JSON: the message of TRITONBACKEND_BackendConfig
//   config          JSON: the model's configuration as far as it is known before it is loaded
//   auto_complete   "true": the model may complete its configuration
//   repository      the model's folder
//   engine, server  the two numbers of the server's handle
#include "engine/backend.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/json_text.h"
#include "json/json.h"
#include "platform/float_mode.h"
#include "plugins/backend_plugin.h"
#include "plugins/batch.h"
#include "plugins/batcher.h"
#include "plugins/model_object.h"
#include "plugins/owner.h"
#include "plugins/server.h"

namespace tritonts {

namespace {

using plugins::CallPlugin;

// A batch that takes no longer delivers its responses together.
constexpr uint64_t kShortRunNs = 500'000;

std::string SettingOf(const ModelSpec& spec, const char* key) {
  const auto known = spec.settings.find(key);
  return known == spec.settings.end() ? "" : known->second;
}

uint32_t NumberOf(const std::string& text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The message of TRITONBACKEND_ModelInstanceHostPolicy.
std::string HostPolicyText(const platform::HostPolicy& policy, const std::string& name) {
  std::vector<std::string> settings;
  if (policy.numa_node >= 0) {
    settings.push_back("\"numa-node\":\"" + std::to_string(policy.numa_node) + "\"");
  }
  if (!policy.cores.empty()) {
    std::string cores;
    for (const auto& [first, last] : policy.cores) {
      if (!cores.empty()) cores += ",";
      cores += std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
    }
    settings.push_back("\"cpu-cores\":\"" + cores + "\"");
  }
  std::string text = "{" + JsonText(name) + ":{";
  for (size_t i = 0; i < settings.size(); i++) text += (i > 0 ? "," : "") + settings[i];
  return text + "}}";
}

const char* KindName(TRITONSERVER_InstanceGroupKind kind) {
  return kind == TRITONSERVER_INSTANCEGROUPKIND_GPU     ? "KIND_GPU"
         : kind == TRITONSERVER_INSTANCEGROUPKIND_CPU   ? "KIND_CPU"
         : kind == TRITONSERVER_INSTANCEGROUPKIND_MODEL ? "KIND_MODEL"
                                                        : "KIND_AUTO";
}

std::string GroupsText(const TRITONBACKEND_BackendAttribute& attributes) {
  if (attributes.groups.empty()) return "";
  std::string text = "[";
  for (const auto& group : attributes.groups) {
    if (text.size() > 1) text += ",";
    text += std::string("{\"kind\":\"") + KindName(group.kind) + "\"";
    if (group.count > 0) text += ",\"count\":" + std::to_string(group.count);
    if (!group.devices.empty()) {
      std::string devices;
      for (const uint64_t device : group.devices) {
        devices += (devices.empty() ? "" : ",") + std::to_string(device);
      }
      text += ",\"gpus\":[" + devices + "]";
    }
    text += "}";
  }
  return text + "]";
}

std::optional<uint32_t> PositionOf(const std::vector<TensorSpec>& tensors,
                                   const std::string* name) {
  for (uint32_t i = 0; name && i < tensors.size(); i++) {
    if (tensors[i].name == *name) return i;
  }
  return std::nullopt;
}

class PluginModel;

class PluginInstance final : public Instance {
 public:
  PluginInstance(PluginModel* model, std::shared_ptr<plugins::BatchPool> pool, std::mutex* turn)
      : model_(model), pool_(std::move(pool)), turn_(turn) {}
  ~PluginInstance() override;

  Status Initialize();
  void Execute(Run& run) override;
  bool leaves_open() const override { return true; }
  void Terminate() override { pool_->Terminate(); }
  bool Takes(uint32_t, MemoryKind kind, int device) const override {
    if (kind != MemoryKind::kDevice) return IsHostMemory(kind);
    return object.kind == TRITONSERVER_INSTANCEGROUPKIND_GPU && device == object.device;
  }

  TRITONBACKEND_ModelInstance object;

 private:
  PluginModel* const model_;  // outlives its instances
  const std::shared_ptr<plugins::BatchPool> pool_;
  std::mutex* const turn_;  // of its device, if only one instance of a device runs at a time
  bool gathers_ = false;    // only the thread in Execute uses it
};

class PluginModel final : public Model {
 public:
  ~PluginModel() override {
    const auto finalize = functions().TRITONBACKEND_ModelFinalize;
    const plugins::LifeCall call(object);
    batcher_.reset();
    // There is nobody left to tell of an error.
    if (initialized_ && finalize) (void)CallPlugin(finalize, &object);
  }

  const plugins::BackendFunctions& functions() const { return object.backend->functions; }

  Status Initialize() {
    initialized_ = true;
    const auto initialize = functions().TRITONBACKEND_ModelInitialize;
    if (!initialize) return Status::Ok();
    object.initializing = true;
    const plugins::LifeCall call(object);
    const Status status = CallPlugin(initialize, &object);
    object.initializing = false;
    return status;
  }

  ModelDescription Describe() const override {
    ModelDescription description;
    description.config = object.completed;
    description.instance_groups = GroupsText(object.backend->attributes);
    return description;
  }

  Status Configure(const ModelIo& io, std::string_view json) override {
    auto parsed = Json::Parse(json);
    if (!parsed.ok()) return parsed.status();
    const Json& config = parsed.value();
    {
      const std::lock_guard lock(object.mutex);
      object.config = json;
    }
    auto tensors = std::make_shared<plugins::ModelTensors>();
    tensors->model = object.name;
    tensors->io = io;
    tensors->decoupled = config.Member("model_transaction_policy").Member("decoupled").flag();
    const Json& sequences = config.Member("sequence_batching");
    tensors->iterative = sequences.Member("iterative_sequence").flag();
    for (const Json& state : sequences.Member("state").items()) {
      const auto output = PositionOf(io.outputs, state.Member("output_name").text());
      const auto input = PositionOf(io.inputs, state.Member("input_name").text());
      if (output && input) tensors->states.emplace_back(*output, *input);
    }
    tensors_ = std::move(tensors);
    Status status = MakeBatcher(config);
    if (!status.ok()) return status;
    // As in Triton, instances of a model with sequences run at the same time.
    takes_turns_ =
        object.backend->policy == TRITONBACKEND_EXECUTION_DEVICE_BLOCKING && sequences.is_null();
    config_ = parsed.take();
    return Status::Ok();
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    std::mutex* turn = nullptr;
    const int device = spec.memory == MemoryKind::kDevice ? spec.device : -1;
    if (takes_turns_) turn = &turns_[device];
    auto made = std::make_unique<PluginInstance>(
        this, std::make_shared<plugins::BatchPool>(tensors_), turn);
    made->object.model = &object;
    made->object.name = spec.name;
    Place(spec, &made->object);
    {
      const std::lock_guard lock(mutex_);
      instances_.push_back(&made->object);
    }
    Status status = made->Initialize();
    if (!status.ok()) return status;
    return std::unique_ptr<Instance>(std::move(made));
  }

  // Its batches run on a JS thread only if nothing says that they may wait there: for a model or
  // JavaScript, which the server's functions do, or for the other instances of a device. What else
  // it does is measured (engine/version/conduct.h).
  bool time_depends_on_data() const override { return !WhyNeverInline().empty(); }

  BatchHook* batch_hook() override { return batcher_.get(); }

  std::map<std::string, std::string> Info() const override {
    std::map<std::string, std::string> info = {{"library", object.backend->source.library}};
    std::string why = WhyNeverInline();
    if (!why.empty()) info.emplace("never_inline", std::move(why));
    return info;
  }

  std::vector<MemoryUse> Memory() const override {
    std::vector<MemoryUse> uses;
    object.memory.AddTo(&uses);
    const std::lock_guard lock(mutex_);
    for (const TRITONBACKEND_ModelInstance* const one : instances_) one->memory.AddTo(&uses);
    return uses;
  }

  void Forget(const TRITONBACKEND_ModelInstance* instance) {
    const std::lock_guard lock(mutex_);
    std::erase(instances_, instance);
  }

  TRITONBACKEND_Model object;

 private:
  // Why its batches never run on a JS thread, as a clause; "": they may.
  std::string WhyNeverInline() const {
    if (takes_turns_) return "the plug-in's instances wait for each other (DEVICE_BLOCKING)";
    if (!object.backend->may_ask_server) return "";
    return "the plug-in's library names functions TRITONSERVER_Server*, which may wait";
  }
  // Makes the batcher, if the plug-in has custom batching and the model the dynamic batcher.
  Status MakeBatcher(const Json& config) {
    const plugins::BackendFunctions& known = functions();
    const bool found[] = {known.TRITONBACKEND_ModelBatcherInitialize != nullptr,
                          known.TRITONBACKEND_ModelBatcherFinalize != nullptr,
                          known.TRITONBACKEND_ModelBatchInitialize != nullptr,
                          known.TRITONBACKEND_ModelBatchIncludeRequest != nullptr,
                          known.TRITONBACKEND_ModelBatchFinalize != nullptr};
    const auto count = std::count(std::begin(found), std::end(found), true);
    if (count > 0 && !config.Member("sequence_batching").Member("oldest").is_null()) {
      return Status::Unsupported(
          "model '" + object.name + "': the library '" + object.backend->source.library +
          "' has functions of custom batching, which are not asked about batches of "
          "sequence_batching { oldest }: use dynamic_batching, or sequence_batching { direct }");
    }
    if (count == 0 || config.Member("dynamic_batching").is_null()) return Status::Ok();
    if (count < 5) {
      return Status::InvalidArg("the library '" + object.backend->source.library + "' has " +
                                std::to_string(count) +
                                " of the five functions of custom batching; expected all or none");
    }
    auto made = plugins::Batcher::Make(known, &object, tensors_);
    if (!made.ok()) return made.status();
    batcher_ = made.take();
    return Status::Ok();
  }

  // The group of an instance, in the configuration's order, and where it puts the instance.
  void Place(const InstanceSpec& spec, TRITONBACKEND_ModelInstance* instance) const {
    const bool is_gpu = spec.memory == MemoryKind::kDevice;
    instance->kind =
        is_gpu ? TRITONSERVER_INSTANCEGROUPKIND_GPU : TRITONSERVER_INSTANCEGROUPKIND_CPU;
    instance->device = is_gpu ? spec.device : 0;
    std::string policy = spec.host_policy.name;
    uint64_t before = 0;
    for (const Json& group : config_.Member("instance_group").items()) {
      const std::string* const kind = group.Member("kind").text();
      const auto count = static_cast<uint64_t>(group.Member("count").integer().value_or(1));
      const bool on_gpus = kind && *kind == "KIND_GPU";
      before += count * (on_gpus ? group.Member("gpus").items().size() : 1);
      if (spec.index >= before) continue;
      if (kind && *kind == "KIND_MODEL") instance->kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL;
      if (const std::string* const name = group.Member("host_policy").text()) {
        if (!name->empty()) policy = *name;
      }
      instance->passive = group.Member("passive").flag();
      for (const Json& profile : group.Member("profile").items()) {
        if (profile.text()) instance->profiles.push_back(*profile.text());
      }
      for (const Json& device : group.Member("secondary_devices").items()) {
        const std::string* const device_kind = device.Member("kind").text();
        instance->secondary.push_back(
            {device_kind ? *device_kind : "", device.Member("device_id").integer().value_or(0)});
      }
      break;
    }
    if (policy.empty()) {
      policy = is_gpu ? "gpu_" + std::to_string(spec.device)
               : instance->kind == TRITONSERVER_INSTANCEGROUPKIND_MODEL ? "model"
                                                                        : "cpu";
    }
    instance->host_policy.reset(
        new TRITONSERVER_Message{HostPolicyText(spec.host_policy, policy), true});
  }

  bool initialized_ = false;
  std::shared_ptr<const plugins::ModelTensors> tensors_;
  std::unique_ptr<plugins::Batcher> batcher_;  // null: batches are formed as others are
  Json config_;
  bool takes_turns_ = false;
  std::map<int, std::mutex> turns_;  // by device
  mutable std::mutex mutex_;         // guards the instances
  std::vector<const TRITONBACKEND_ModelInstance*> instances_;
};

PluginInstance::~PluginInstance() {
  const auto finalize = model_->functions().TRITONBACKEND_ModelInstanceFinalize;
  const plugins::LifeCall call(model_->object);
  if (finalize) (void)CallPlugin(finalize, &object);
  model_->Forget(&object);
}

Status PluginInstance::Initialize() {
  const auto initialize = model_->functions().TRITONBACKEND_ModelInstanceInitialize;
  const plugins::LifeCall call(model_->object);
  return initialize ? CallPlugin(initialize, &object) : Status::Ok();
}

void PluginInstance::Execute(Run& run) {
  plugins::Batch* const batch = pool_->Acquire(run);
  std::unique_lock<std::mutex> turn;
  if (turn_) turn = std::unique_lock(*turn_);
  const bool on_js_thread = plugins::OnJsThread();
  const uint64_t began = NowNs();
  // This thread delivers to itself.
  batch->Begin(gathers_, !on_js_thread);
  Status status;
  {
    const platform::KeepFloatMode keep;
    status = CallPlugin(model_->functions().TRITONBACKEND_ModelInstanceExecute, &object,
                        batch->requests(), batch->size());
  }
  const uint64_t took = NowNs() - began;
  gathers_ = took < kShortRunNs;
  if (turn_) turn.unlock();
  batch->End(status);
}

class PluginBackend final : public Backend {
 public:
  // Unless Model::time_depends_on_data.
  bool may_run_on_js_thread() const override { return true; }

  // Opens the plug-in's library, and initialises nothing.
  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override {
    const auto setting = [&](const char* key) {
      const auto known = settings.find(key);
      return known == settings.end() ? std::string() : known->second;
    };
    const std::string library = setting("library");
    const Status status = plugins::CheckPlugin(library, setting("own_library"));
    if (!status.ok()) return status;
    return std::map<std::string, std::string>{{"library", library}, {"version", "1.19"}};
  }

  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    auto backend = TRITONBACKEND_Backend::Get(
        {SettingOf(spec, "backend"), SettingOf(spec, "library"), SettingOf(spec, "own_library"),
         SettingOf(spec, "backend_config")});
    if (!backend.ok()) return backend.status();
    auto model = std::make_unique<PluginModel>();
    TRITONBACKEND_Model& object = model->object;
    object.backend = backend.take();
    object.name = spec.name;
    object.version = static_cast<uint64_t>(spec.version);
    object.repository = SettingOf(spec, "repository");
    object.config = SettingOf(spec, "config");
    object.auto_complete = SettingOf(spec, "auto_complete") == "true";
    auto server = plugins::FindServer(NumberOf(SettingOf(spec, "engine")),
                                      NumberOf(SettingOf(spec, "server")));
    if (server.ok()) object.server = server.take();
    Status status = model->Initialize();
    if (!status.ok()) return status;
    return std::unique_ptr<Model>(std::move(model));
  }
};

}  // namespace

namespace plugin {

Backend* MakeBackend() {
  return new PluginBackend();
}

}  // namespace plugin

}  // namespace tritonts

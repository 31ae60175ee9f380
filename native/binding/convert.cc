#include "convert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bytes_wrap.h"
#include "convert_sequences.h"
#include "convert_warmup.h"
#include "external_memory.h"

namespace tritonts {

namespace {

Napi::Array DimsToJs(Napi::Env env, const std::vector<int64_t>& dims) {
  Napi::Array array = Napi::Array::New(env, dims.size());
  for (uint32_t i = 0; i < dims.size(); i++) {
    array.Set(i, Napi::Number::New(env, static_cast<double>(dims[i])));
  }
  return array;
}

Napi::Array TensorsToJs(Napi::Env env, const std::vector<TensorDescription>& tensors) {
  Napi::Array array = Napi::Array::New(env, tensors.size());
  for (uint32_t i = 0; i < tensors.size(); i++) {
    const TensorDescription& tensor = tensors[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", tensor.name);
    object.Set("datatype", Napi::Number::New(env, static_cast<int>(tensor.datatype)));
    object.Set("typeName", tensor.type_name);
    if (tensor.has_rank) object.Set("shape", DimsToJs(env, tensor.dims));
    Napi::Array names = Napi::Array::New(env, tensor.dim_names.size());
    for (uint32_t dim = 0; dim < tensor.dim_names.size(); dim++) {
      names.Set(dim, tensor.dim_names[dim]);
    }
    object.Set("dimNames", names);
    object.Set("optional", Napi::Boolean::New(env, tensor.optional));
    object.Set("isShapeTensor", Napi::Boolean::New(env, tensor.is_shape_tensor));
    array.Set(i, object);
  }
  return array;
}

QueuePolicy QueuePolicyOf(const Napi::Value& value) {
  QueuePolicy policy;
  if (!value.IsObject()) return policy;
  const Napi::Object object = value.As<Napi::Object>();
  if (FlagOf(object.Get("delays"))) policy.on_timeout = QueuePolicy::OnTimeout::kDelay;
  policy.default_timeout_ns = NanosecondsOf(object.Get("defaultTimeoutUs"));
  policy.allow_timeout_override = FlagOf(object.Get("allowTimeoutOverride"));
  policy.max_queue_size = static_cast<uint64_t>(NumberOf(object.Get("maxQueueSize")));
  return policy;
}

QueuePolicies QueuePoliciesOf(const Napi::Object& object) {
  QueuePolicies policies;
  policies.levels = static_cast<uint64_t>(NumberOf(object.Get("levels")));
  policies.default_level = static_cast<uint64_t>(NumberOf(object.Get("defaultLevel")));
  policies.general = QueuePolicyOf(object.Get("general"));
  const Napi::Value own = object.Get("own");
  if (!own.IsArray()) return policies;
  const Napi::Array array = own.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const auto level = static_cast<uint64_t>(NumberOf(entry.As<Napi::Object>().Get("level")));
    policies.own[level] = QueuePolicyOf(entry);
  }
  return policies;
}

// GetPropertyNames also searches prototypes, which takes most of its time.
Napi::Array OwnKeys(const Napi::Object& object) {
  napi_value keys = nullptr;
  if (napi_get_all_property_names(
          object.Env(), object, napi_key_own_only,
          static_cast<napi_key_filter>(napi_key_enumerable | napi_key_skip_symbols),
          napi_key_numbers_to_strings, &keys) != napi_ok) {
    return {};
  }
  return Napi::Array(object.Env(), keys);
}

}  // namespace

uint64_t NanosecondsOf(const Napi::Value& value) {
  const auto us = static_cast<uint64_t>(std::max<int64_t>(NumberOf(value), 0));
  return std::min(us, UINT64_MAX / 4 / 1000) * 1000;
}

std::vector<int64_t> DimsOf(const Napi::Value& value) {
  std::vector<int64_t> dims;
  if (!value.IsArray()) return dims;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) dims.push_back(NumberOf(array.Get(i)));
  return dims;
}

DynamicPolicy DynamicPolicyOf(const Napi::Value& value) {
  DynamicPolicy policy;
  if (!value.IsObject()) return policy;
  const Napi::Object object = value.As<Napi::Object>();
  policy.max_batch_size = static_cast<uint32_t>(NumberOf(object.Get("maxBatchSize")));
  for (const int64_t size : DimsOf(object.Get("preferredBatchSizes"))) {
    policy.preferred_batch_sizes.push_back(static_cast<uint32_t>(size));
  }
  policy.max_queue_delay_ns = NanosecondsOf(object.Get("maxQueueDelayUs"));
  policy.across_shapes = FlagOf(object.Get("acrossShapes"));
  return policy;
}

std::vector<TensorSpec> SpecsOf(const Napi::Value& value) {
  std::vector<TensorSpec> specs;
  if (!value.IsArray()) return specs;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const Napi::Object object = entry.As<Napi::Object>();
    TensorSpec spec;
    spec.name = StringOf(object.Get("name"));
    spec.datatype = static_cast<DataType>(NumberOf(object.Get("datatype")));
    spec.dims = DimsOf(object.Get("dims"));
    spec.optional = FlagOf(object.Get("optional"));
    spec.outer = DimsOf(object.Get("outer"));
    spec.rows_in_values = FlagOf(object.Get("rowsInValues"));
    spec.ragged = FlagOf(object.Get("ragged"));
    spec.internal = FlagOf(object.Get("internal"));
    spec.of_batch = FlagOf(object.Get("ofBatch"));
    const Napi::Value like = object.Get("shapedLike");
    if (like.IsNumber()) spec.shaped_like = static_cast<uint32_t>(NumberOf(like));
    specs.push_back(std::move(spec));
  }
  return specs;
}

Napi::Value ToJs(Napi::Env env, const Status& status) {
  if (status.ok()) return env.Null();
  Napi::Object object = Napi::Object::New(env);
  object.Set("code", Napi::Number::New(env, status.number()));
  object.Set("message", status.message());
  return object;
}

Napi::Value ToJs(Napi::Env env, const ModelDescription& description) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("inputs", TensorsToJs(env, description.inputs));
  object.Set("outputs", TensorsToJs(env, description.outputs));
  object.Set("rowsVary", description.rows_vary);
  if (description.most_rows) object.Set("mostRows", Napi::Number::New(env, *description.most_rows));
  object.Set("config", description.config);
  object.Set("instanceGroups", description.instance_groups);
  return object;
}

Napi::Value ToJs(Napi::Env env, const ModelKey& key) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("namespace", key.model_namespace);
  object.Set("name", key.name);
  return object;
}

Napi::Value ToJs(Napi::Env env, const ModelFolder& folder) {
  using Config = ModelFolder::Config;
  Napi::Object object = Napi::Object::New(env);
  object.Set("fault", folder.fault);
  object.Set("refusal", folder.refusal);
  if (folder.outside_link) {
    Napi::Object link = Napi::Object::New(env);
    link.Set("path", folder.outside_link->path);
    link.Set("target", folder.outside_link->target);
    object.Set("outsideLink", link);
  }
  object.Set("stamp", folder.stamp);
  Napi::Array folders = Napi::Array::New(env, folder.folders.size());
  for (uint32_t i = 0; i < folder.folders.size(); i++) folders.Set(i, folder.folders[i]);
  object.Set("folders", folders);
  Napi::Array entries = Napi::Array::New(env, folder.first_entries.size());
  uint32_t i = 0;
  for (const ModelFolder::Entry& known : folder.first_entries) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", known.name);
    entry.Set("isDirectory", Napi::Boolean::New(env, known.is_folder));
    entries.Set(i++, entry);
  }
  object.Set("firstEntries", entries);
  object.Set("misnamedConfig", folder.misnamed_config);
  if (folder.config_state == Config::kRead) {
    object.Set("config", Napi::Buffer<char>::Copy(env, folder.config.data(), folder.config.size()));
  } else if (folder.config_state == Config::kFailed) {
    object.Set("configFault", folder.config);
  } else if (folder.config_state == Config::kTooLarge) {
    object.Set("configSize", Napi::Number::New(env, static_cast<double>(folder.config_size)));
  }
  return object;
}

Napi::Value ToJs(Napi::Env env, const std::map<std::string, std::string>& map) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [key, value] : map) object.Set(key, value);
  return object;
}

uint32_t WordOf(const Napi::CallbackInfo& info, size_t index) {
  uint32_t value = 0;
  napi_get_value_uint32(info.Env(), info[index], &value);
  return value;
}

std::pair<const void*, size_t> ViewOf(const Napi::Value& value) {
  if (value.IsTypedArray()) {
    napi_typedarray_type type;
    size_t length = 0;
    void* data = nullptr;
    if (napi_get_typedarray_info(value.Env(), value, &type, &length, &data, nullptr, nullptr) !=
        napi_ok) {
      return {nullptr, 0};
    }
    return {data, value.As<Napi::TypedArray>().ByteLength()};
  }
  return {nullptr, 0};
}

bool FlagOf(const Napi::Value& value) {
  bool flag = false;
  return napi_get_value_bool(value.Env(), value, &flag) == napi_ok && flag;
}

std::string StringOf(const Napi::Value& value) {
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

int64_t NumberOf(const Napi::Value& value) {
  return value.IsNumber() ? value.As<Napi::Number>().Int64Value() : 0;
}

std::optional<uint64_t> WholeOf(const Napi::Value& value) {
  if (!value.IsNumber()) return std::nullopt;
  const double number = value.As<Napi::Number>().DoubleValue();
  constexpr double kLimit = 9007199254740992.0;  // 2^53
  if (!(number >= 0 && number < kLimit) || number != std::floor(number)) return std::nullopt;
  return static_cast<uint64_t>(number);
}

std::vector<double> DoublesOf(const Napi::Value& value) {
  std::vector<double> doubles;
  if (!value.IsArray()) return doubles;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value one = array.Get(i);
    doubles.push_back(one.IsNumber() ? one.As<Napi::Number>().DoubleValue() : 0);
  }
  return doubles;
}

ModelKey ModelKeyOf(const Napi::Value& value) {
  if (!value.IsObject()) return {};
  const Napi::Object object = value.As<Napi::Object>();
  return {StringOf(object.Get("namespace")), StringOf(object.Get("name"))};
}

std::map<std::string, std::string> StringsOf(const Napi::Value& value) {
  std::map<std::string, std::string> map;
  if (!value.IsObject()) return map;
  const Napi::Object object = value.As<Napi::Object>();
  const Napi::Array keys = OwnKeys(object);
  if (keys.IsEmpty()) return map;
  for (uint32_t i = 0; i < keys.Length(); i++) {
    const Napi::Value key = keys.Get(i);
    map.emplace(StringOf(key), StringOf(object.Get(key)));
  }
  return map;
}

ModelFiles FilesOf(const Napi::Value& value) {
  ModelFiles files;
  if (!value.IsObject()) return files;
  const Napi::Object object = value.As<Napi::Object>();
  const Napi::Array paths = OwnKeys(object);
  if (paths.IsEmpty()) return files;
  for (uint32_t i = 0; i < paths.Length(); i++) {
    const Napi::Value path = paths.Get(i);
    if (auto bytes = BytesWrap::BytesOf(object.Get(path))) {
      files.emplace(StringOf(path), std::move(bytes));
    }
  }
  return files;
}

LatencyPolicy LatencyPolicyOf(const Napi::Value& value) {
  LatencyPolicy policy;
  if (!value.IsObject()) return policy;
  const Napi::Object object = value.As<Napi::Object>();
  policy.histograms = FlagOf(object.Get("histograms"));
  policy.window_bits = static_cast<uint32_t>(NumberOf(object.Get("windowBits")));
  const Napi::Value bounds = object.Get("firstResponseMs");
  policy.first_responses = bounds.IsArray();
  policy.first_response_ms = DoublesOf(bounds);
  return policy;
}

// What an instance needs of the rate limiter.
GateClaim ClaimOf(const Napi::Object& instance, int device) {
  GateClaim claim;
  claim.device = device;
  claim.priority = static_cast<uint32_t>(NumberOf(instance.Get("priority")));
  const Napi::Value resources = instance.Get("resources");
  if (!resources.IsArray()) return claim;
  const Napi::Array array = resources.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object resource = array.Get(i).As<Napi::Object>();
    claim.resources.push_back({StringOf(resource.Get("name")), FlagOf(resource.Get("global")),
                               static_cast<uint64_t>(NumberOf(resource.Get("count")))});
  }
  return claim;
}

std::vector<BatchInputSpec> BatchInputsOf(const Napi::Value& value) {
  std::vector<BatchInputSpec> specs;
  if (!value.IsArray()) return specs;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object object = array.Get(i).As<Napi::Object>();
    specs.push_back({static_cast<BatchInputSpec::Kind>(NumberOf(object.Get("kind"))),
                     static_cast<uint32_t>(NumberOf(object.Get("source"))),
                     static_cast<uint32_t>(NumberOf(object.Get("target")))});
  }
  return specs;
}

platform::HostPolicy HostPolicyOf(const Napi::Value& value) {
  platform::HostPolicy policy;
  if (!value.IsObject()) return policy;
  const Napi::Object object = value.As<Napi::Object>();
  policy.name = StringOf(object.Get("name"));
  const Napi::Value node = object.Get("numaNode");
  if (node.IsNumber()) policy.numa_node = static_cast<int>(NumberOf(node));
  const Napi::Value cores = object.Get("cores");
  if (!cores.IsArray()) return policy;
  const Napi::Array array = cores.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object range = array.Get(i).As<Napi::Object>();
    policy.cores.emplace_back(static_cast<uint32_t>(NumberOf(range.Get("first"))),
                              static_cast<uint32_t>(NumberOf(range.Get("last"))));
  }
  return policy;
}

void AddInstances(const Napi::Value& instances, VersionConfig* config) {
  if (!instances.IsArray()) return;
  const Napi::Array array = instances.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const Napi::Object object = entry.As<Napi::Object>();
    InstanceSpec spec;
    spec.name = StringOf(object.Get("name"));
    spec.index = i;
    const Napi::Value device = object.Get("device");
    if (device.IsNumber() && NumberOf(device) >= 0) {
      spec.memory = MemoryKind::kDevice;
      spec.device = static_cast<int>(NumberOf(device));
    }
    spec.host_policy = HostPolicyOf(object.Get("hostPolicy"));
    config->claims.push_back(ClaimOf(object, spec.device));
    config->instances.push_back(std::move(spec));
  }
}

VersionConfig VersionConfigOf(const Napi::Object& object) {
  VersionConfig config;
  config.io.max_batch_size = static_cast<uint32_t>(NumberOf(object.Get("maxBatchSize")));
  config.io.inputs = SpecsOf(object.Get("inputs"));
  config.io.outputs = SpecsOf(object.Get("outputs"));
  config.io.batch_inputs = BatchInputsOf(object.Get("batchInputs"));
  config.json = StringOf(object.Get("json"));
  config.policy = DynamicPolicyOf(object.Get("scheduling"));
  config.sequences = SequencePolicyOf(object.Get("sequences"));
  config.preserve_ordering = FlagOf(object.Get("preserveOrdering"));
  config.rerun_in_halves = FlagOf(object.Get("rerunInHalves"));
  config.decoupled = FlagOf(object.Get("decoupled"));
  const Napi::Value unload = object.Get("unloadTimeoutMs");
  if (unload.IsNumber()) {
    constexpr double kMostMs = 1e12;  // longer than any process lives
    config.unload_wait_ns =
        static_cast<uint64_t>(std::min(unload.As<Napi::Number>().DoubleValue(), kMostMs)) *
        1'000'000;
  }
  config.cached = FlagOf(object.Get("cached"));
  config.identity = StringOf(object.Get("identity"));
  const Napi::Value queue = object.Get("queue");
  if (queue.IsObject()) config.queue = QueuePoliciesOf(queue.As<Napi::Object>());
  config.latencies = LatencyPolicyOf(object.Get("latencies"));
  config.inline_budget_ns = static_cast<uint64_t>(NumberOf(object.Get("inlineBudgetNs")));
  config.warmup = WarmupOf(object.Get("warmup"));
  AddInstances(object.Get("instances"), &config);
  return config;
}

Napi::Value ExternalBuffer(Napi::Env env, Block* block) {
  block->Retain();
  const napi_value value = ExternalMemory(
      env, block->data(), block->size(),
      [](napi_env, void*, void* hint) { static_cast<Block*>(hint)->Release(); }, block);
  return value ? Napi::Value(env, value) : Napi::Value();
}

}  // namespace tritonts

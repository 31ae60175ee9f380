#include "convert.h"

#include <utility>

#include "bytes_wrap.h"

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
    array.Set(i, object);
  }
  return array;
}

Napi::Object DurationToJs(Napi::Env env, const Duration& duration) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("count", Napi::Number::New(env, static_cast<double>(duration.count)));
  object.Set("ns", Napi::Number::New(env, static_cast<double>(duration.ns)));
  return object;
}

std::vector<int64_t> DimsOf(const Napi::Value& value) {
  std::vector<int64_t> dims;
  if (!value.IsArray()) return dims;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) dims.push_back(NumberOf(array.Get(i)));
  return dims;
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
    specs.push_back(std::move(spec));
  }
  return specs;
}

// Those of prototypes, which GetPropertyNames looks at too, take most of its time.
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

Napi::Value ToJs(Napi::Env env, const Status& status) {
  if (status.ok()) return env.Null();
  Napi::Object object = Napi::Object::New(env);
  object.Set("code", Napi::Number::New(env, static_cast<int>(status.code())));
  object.Set("message", status.message());
  return object;
}

Napi::Value ToJs(Napi::Env env, const ModelDescription& description) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("inputs", TensorsToJs(env, description.inputs));
  object.Set("outputs", TensorsToJs(env, description.outputs));
  object.Set("rowsVary", description.rows_vary);
  return object;
}

Napi::Value ToJs(Napi::Env env, const ModelFolder& folder) {
  using Config = ModelFolder::Config;
  Napi::Object object = Napi::Object::New(env);
  object.Set("fault", folder.fault);
  object.Set("refusal", folder.refusal);
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
  if (folder.config_state == Config::kRead) {
    object.Set("config", Napi::Buffer<char>::Copy(env, folder.config.data(), folder.config.size()));
  } else if (folder.config_state == Config::kFailed) {
    object.Set("configFault", folder.config);
  } else if (folder.config_state == Config::kTooLarge) {
    object.Set("configSize", Napi::Number::New(env, static_cast<double>(folder.config_size)));
  }
  return object;
}

Napi::Value ToJs(Napi::Env env, const Statistics& statistics) {
  Napi::Object object = Napi::Object::New(env);
  const auto number = [&](const char* key, uint64_t value) {
    object.Set(key, Napi::Number::New(env, static_cast<double>(value)));
  };
  number("lastInferenceMs", statistics.last_inference_ms);
  number("inferenceCount", statistics.inference_count);
  number("executionCount", statistics.execution_count);
  number("cancelled", statistics.cancelled);
  number("rejected", statistics.rejected);
  object.Set("success", DurationToJs(env, statistics.success));
  object.Set("fail", DurationToJs(env, statistics.fail));
  object.Set("queue", DurationToJs(env, statistics.queue));
  object.Set("computeInput", DurationToJs(env, statistics.compute_input));
  object.Set("computeInfer", DurationToJs(env, statistics.compute_infer));
  object.Set("computeOutput", DurationToJs(env, statistics.compute_output));
  Napi::Array batches = Napi::Array::New(env, statistics.batches.size());
  uint32_t i = 0;
  for (const auto& [rows, batch] : statistics.batches) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("batchSize", Napi::Number::New(env, rows));
    entry.Set("computeInput", DurationToJs(env, batch.compute_input));
    entry.Set("computeInfer", DurationToJs(env, batch.compute_infer));
    entry.Set("computeOutput", DurationToJs(env, batch.compute_output));
    batches.Set(i++, entry);
  }
  object.Set("batches", batches);
  return object;
}

Napi::Value ToJs(Napi::Env env, const std::map<std::string, std::string>& map) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [key, value] : map) object.Set(key, value);
  return object;
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

VersionConfig VersionConfigOf(const Napi::Object& object) {
  VersionConfig config;
  config.io.max_batch_size = static_cast<uint32_t>(NumberOf(object.Get("maxBatchSize")));
  config.io.inputs = SpecsOf(object.Get("inputs"));
  config.io.outputs = SpecsOf(object.Get("outputs"));
  const Napi::Value scheduling = object.Get("scheduling");
  if (scheduling.IsObject()) {
    const Napi::Object policy = scheduling.As<Napi::Object>();
    config.policy.max_batch_size = static_cast<uint32_t>(NumberOf(policy.Get("maxBatchSize")));
    for (int64_t size : DimsOf(policy.Get("preferredBatchSizes"))) {
      config.policy.preferred_batch_sizes.push_back(static_cast<uint32_t>(size));
    }
    config.policy.max_queue_delay_ns =
        static_cast<uint64_t>(NumberOf(policy.Get("maxQueueDelayUs"))) * 1000;
  }
  config.inline_budget_ns = static_cast<uint64_t>(NumberOf(object.Get("inlineBudgetNs")));
  const Napi::Value instances = object.Get("instances");
  if (instances.IsArray()) {
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
      config.instances.push_back(std::move(spec));
    }
  }
  return config;
}

Napi::Value ExternalBuffer(Napi::Env env, Block* block) {
  block->Retain();
  napi_value value = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env, block->data(), block->size(),
      [](napi_env, void*, void* hint) { static_cast<Block*>(hint)->Release(); }, block, &value);
  if (status != napi_ok) {
    block->Release();
    return {};
  }
  return Napi::Value(env, value);
}

}  // namespace tritonts

#include "engine.h"

#include <algorithm>
#include <utility>

#include "log.h"

namespace tritonts::tensorrt {

namespace {

std::vector<int64_t> VectorOf(const Dims& dims) {
  if (dims.count <= 0 || dims.count > Dims::kMost) return {};
  return {dims.d, dims.d + dims.count};
}

std::string WhatIs(const PlanTensor& tensor) {
  return (tensor.is_input ? "input '" : "output '") + tensor.name + "'";
}

}  // namespace

StatusOr<std::shared_ptr<const Engine>> Engine::Read(const Library* library,
                                                     std::shared_ptr<device::Gpu> gpu,
                                                     const PlanSource& source) {
  const device::Gpu::Current current(*gpu);
  if (!current.status().ok()) return current.status();
  std::shared_ptr<Engine> engine(new Engine(library, gpu, source.file));
  auto runtime = library->MakeRuntime();
  if (!runtime.ok()) return runtime.status();
  engine->runtime_ = runtime.value();
  if (Status status = engine->Deserialize(source); !status.ok()) return status;
  if (Status status = engine->ReadTensors(); !status.ok()) return status;
  return std::shared_ptr<const Engine>(std::move(engine));
}

Engine::~Engine() {
  const device::Gpu::Current current(*gpu_);
  Delete(engine_);
  Delete(lean_);
  Delete(runtime_);
}

Status Engine::Deserialize(const PlanSource& source) {
  const auto& at = table().runtime;
  if (source.host_code) Call<void>(runtime_, at.setEngineHostCodeAllowed, true);
  ForgetLog();
  engine_ = Call<Object*>(runtime_, at.deserializeCudaEngine,
                          static_cast<const void*>(source.bytes.data()), source.bytes.size());
  if (engine_) return Status::Ok();
  const Status refused = library_->CannotRead(source.host_code);
  return source.lean_runtime.empty() ? refused : DeserializeByLean(source, refused);
}

Status Engine::DeserializeByLean(const PlanSource& source, const Status& refused) {
  auto lean = library_->LoadLeanRuntime(runtime_, source.lean_runtime);
  if (!lean.ok()) return lean.status().With(refused.message() + "; and " + lean.status().message());
  lean_ = lean.value();
  ForgetLog();
  engine_ = Call<Object*>(lean_, table().runtime.deserializeCudaEngine,
                          static_cast<const void*>(source.bytes.data()), source.bytes.size());
  if (engine_) return Status::Ok();
  return Failure(refused.code(),
                 refused.message() + "; and the lean runtime " + source.lean_runtime +
                     " can't read it, either (backendConfig.tensorrt.lean-runtime has to be of "
                     "the version that built the plan)",
                 refused.reason());
}

Status Engine::ReadTensors() {
  const auto& at = table().engine;
  profiles_ = std::max(1, Call<int32_t>(engine_, at.getNbOptimizationProfiles));
  const int32_t count = Call<int32_t>(engine_, at.getNbIOTensors);
  for (int32_t i = 0; i < count; i++) {
    auto tensor = ReadTensor(Call<const char*>(engine_, at.getIOTensorName, i));
    if (!tensor.ok()) return tensor.status();
    tensors_.push_back(tensor.take());
  }
  return Status::Ok();
}

StatusOr<PlanTensor> Engine::ReadTensor(const char* name) const {
  const auto& at = table().engine;
  PlanTensor tensor;
  tensor.name = name;
  tensor.is_input = Call<int32_t>(engine_, at.getTensorIOMode, name) == kInput;
  if (const auto format = Call<int32_t>(engine_, at.getTensorFormat, name); format != kLinear) {
    return Status::Unsupported(WhatIs(tensor) + " has the format " + FormatName(format) + " (" +
                               std::to_string(format) + "), but only LINEAR (0) is supported: " +
                               "build the plan with that format for its inputs and outputs");
  }
  const auto type = Call<int32_t>(engine_, at.getTensorDataType, name);
  tensor.datatype = TypeOf(type);
  tensor.type_name = TypeName(type);
  tensor.dims = VectorOf(Call<Dims>(engine_, at.getTensorShape, name));
  tensor.on_host = Call<int32_t>(engine_, at.getTensorLocation, name) == kOnHost;
  if (tensor.on_host && tensor.datatype != DataType::kInt32 && tensor.datatype != DataType::kInt64)
    return Status::Unsupported(WhatIs(tensor) + " is a shape tensor of type " + tensor.type_name +
                               "; supported are int32 and int64");
  if (tensor.is_input) ReadProfiles(&tensor);
  return tensor;
}

void Engine::ReadProfiles(PlanTensor* tensor) const {
  const auto shape = [&](int32_t profile, int32_t bound) {
    return VectorOf(
        Call<Dims>(engine_, table().engine.getProfileShape, tensor->name.c_str(), profile, bound));
  };
  for (int32_t profile = 0; profile < profiles_; profile++) {
    Bounds bounds = {shape(profile, kMin), shape(profile, kOpt), shape(profile, kMax)};
    // A plan without profiles, or an input without dynamic dims, may have no bounds.
    for (auto* numbers : {&bounds.least, &bounds.best, &bounds.most})
      if (numbers->size() != tensor->dims.size()) *numbers = tensor->dims;
    tensor->shapes.push_back(std::move(bounds));
    if (!tensor->on_host) continue;
    tensor->values.push_back({ValuesOf(*tensor, profile, kMin), ValuesOf(*tensor, profile, kOpt),
                              ValuesOf(*tensor, profile, kMax)});
  }
}

std::vector<int64_t> Engine::ValuesOf(const PlanTensor& tensor, int32_t profile,
                                      int32_t bound) const {
  const auto& at = table().engine;
  // A shape tensor has rank 1 or 0.
  const auto count =
      static_cast<size_t>(tensor.dims.empty() ? 1 : std::max<int64_t>(0, tensor.dims[0]));
  const char* const name = tensor.name.c_str();
  std::vector<int64_t> values;
  if (at.getProfileTensorValuesV2 != kAbsent) {
    const auto* const told =
        Call<const int64_t*>(engine_, at.getProfileTensorValuesV2, name, profile, bound);
    if (told) values.assign(told, told + count);
  } else {
    const auto* const told =
        Call<const int32_t*>(engine_, at.getProfileTensorValues, name, profile, bound);
    if (told) values.assign(told, told + count);
  }
  return values;
}

const PlanTensor* Engine::Find(const std::string& name, bool is_input) const {
  for (const PlanTensor& tensor : tensors_)
    if (tensor.is_input == is_input && tensor.name == name) return &tensor;
  return nullptr;
}

size_t Engine::MemoryOf(int32_t profile) const {
  const auto& at = table().engine;
  if (at.getDeviceMemorySizeForProfileV2 == kAbsent)
    return Call<size_t>(engine_, at.getDeviceMemorySize);
  const auto size = Call<int64_t>(engine_, at.getDeviceMemorySizeForProfileV2, profile);
  return static_cast<size_t>(std::max<int64_t>(0, size));
}

StatusOr<Object*> Engine::MakeContext() const {
  ForgetLog();
  Object* const context =
      Call<Object*>(engine_, table().engine.createExecutionContext, int32_t{kMemoryOfOurs});
  if (!context)
    return Failure(Code::kUnavailable, "TensorRT makes no execution context", Reason::kNoMemory);
  return context;
}

}  // namespace tritonts::tensorrt

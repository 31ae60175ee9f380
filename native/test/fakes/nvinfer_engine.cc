// Engines of the fake TensorRT.
#include "nvinfer.h"

namespace tritonts::fakes::infer {

namespace {

constexpr int32_t kOwnMemory = 0;  // the strategies of createExecutionContext
constexpr int32_t kUserManaged = 2;

Object* CreateContext(Engine* self, int32_t strategy) {
  CheckDevice(self->device, "an engine");
  if (strategy != kOwnMemory && strategy != kUserManaged) Die("a strategy that is not known");
  if (self->plan->op == "nocontext") {
    Log(self->logger, 1, "no memory for a context");
    return nullptr;
  }
  return Make(MakeContext(*self, strategy == kOwnMemory));
}

int32_t Profiles(Engine* self) {
  return self->plan->profiles;
}
Dims EngineShape(Engine* self, const char* name) {
  return self->plan->Find(name).dims;
}
int32_t TypeOf(Engine* self, const char* name) {
  return self->plan->Find(name).type;
}
int32_t Location(Engine* self, const char* name) {
  return self->plan->Find(name).host ? 1 : 0;
}
bool IsShape(Engine* self, const char* name) {
  return self->plan->Find(name).host;
}
int32_t Mode(Engine* self, const char* name) {
  return self->plan->Find(name).input ? 1 : 2;
}
int32_t Format(Engine* self, const char* name) {
  return self->plan->Find(name).format;
}
int32_t Count(Engine* self) {
  return static_cast<int32_t>(self->plan->tensors.size());
}
const char* NameOf(Engine* self, int32_t index) {
  return self->plan->tensors[static_cast<size_t>(index)].name.c_str();
}

Dims ProfileShape(Engine* self, const char* name, int32_t profile, int32_t which) {
  const Tensor& tensor = self->plan->Find(name);
  if (!tensor.input || profile < 0 || profile >= self->plan->profiles) Die("no such profile");
  if (tensor.profiles.empty()) return tensor.dims;
  return tensor.profiles.at(static_cast<size_t>(profile))[static_cast<size_t>(which)];
}

const Dims& Values(Engine* self, const char* name, int32_t profile, int32_t which) {
  const Tensor& tensor = self->plan->Find(name);
  if (!tensor.input || !tensor.host || tensor.values.empty()) Die("no values of a profile");
  return tensor.values.at(static_cast<size_t>(profile))[static_cast<size_t>(which)];
}
const int64_t* ProfileValues(Engine* self, const char* name, int32_t profile, int32_t which) {
  return Values(self, name, profile, which).d;
}
// The older function, which has no 64-bit values.
const int32_t* ProfileValues32(Engine* self, const char* name, int32_t profile, int32_t which) {
  if (self->plan->Find(name).type == kInt64) return nullptr;
  static thread_local int32_t values[8];
  const Dims& wide = Values(self, name, profile, which);
  for (int i = 0; i < wide.count; i++) values[i] = static_cast<int32_t>(wide.d[i]);
  return values;
}

size_t MemorySize(Engine* self) {
  return MemoryFor(*self->plan, self->plan->profiles - 1);
}
int64_t MemorySizeForProfile(Engine* self, int32_t profile) {
  return static_cast<int64_t>(MemoryFor(*self->plan, profile));
}

void DestroyEngine(Impl* self) {
  auto* const engine = static_cast<Engine*>(self);
  CheckDevice(engine->device, "an engine");
  if (engine->uses.use_count() > 1) Die("an engine was deleted before its contexts");
  delete engine;
}

}  // namespace

size_t MemoryFor(const Plan& plan, int32_t profile) {
  return plan.memory * static_cast<size_t>(profile + 1);
}

Engine* MakeEngine(void* logger, std::shared_ptr<const Plan> plan) {
  static void* const* const table = TableOf({
      {"createExecutionContext", 5, 5, 0, At(CreateContext)},
      {"getDeviceMemorySize", 7, -1, 0, At(MemorySize)},
      {"getNbOptimizationProfiles", 10, 8, 0, At(Profiles)},
      {"getProfileTensorValues", 11, -1, 0, At(ProfileValues32)},
      {"getTensorShape", 19, 15, 0, At(EngineShape)},
      {"getTensorDataType", 20, 16, 0, At(TypeOf)},
      {"getTensorLocation", 21, 17, 0, At(Location)},
      {"isShapeInferenceIO", 22, 18, 0, At(IsShape)},
      {"getTensorIOMode", 23, 19, 0, At(Mode)},
      {"getTensorFormat", 26, 22, 0, At(Format)},
      {"getProfileShape", 29, 25, 0, At(ProfileShape)},
      {"getNbIOTensors", 30, 26, 0, At(Count)},
      {"getIOTensorName", 31, 27, 0, At(NameOf)},
      {"getDeviceMemorySizeForProfileV2", 53, 45, 9, At(MemorySizeForProfile)},
      {"getProfileTensorValuesV2", 54, 46, 13, At(ProfileValues)},
  });
  auto* const engine = new Engine();
  engine->table = table;
  engine->destroy = DestroyEngine;
  engine->logger = logger;
  engine->device = Driver<const void*()>("fakeCudaCurrent")();
  if (!engine->device) Die("an engine is made without a context");
  engine->plan = std::move(plan);
  return engine;
}

}  // namespace tritonts::fakes::infer

// Execution contexts of the fake TensorRT. They enforce the order of calls that the real ones need.
#include <condition_variable>
#include <mutex>

#include "nvinfer.h"

namespace tritonts::fakes::infer {

namespace {

constexpr uint64_t kAlignment = 256;

bool Within(const Dims& dims, const std::vector<std::array<Dims, 3>>& profiles, int32_t profile) {
  if (profiles.empty()) return true;
  const auto& bounds = profiles.at(static_cast<size_t>(profile));
  for (int i = 0; i < dims.count; i++)
    if (dims.d[i] < bounds[0].d[i] || dims.d[i] > bounds[2].d[i]) return false;
  return true;
}

bool SetProfile(Context* self, int32_t profile, void* stream) {
  CheckDevice(self->device, "a context");
  if (!stream) Die("a profile was set on no stream");
  if (profile < 0 || profile >= self->plan->profiles) {
    Log(self->logger, 1, "there is no such profile");
    return false;
  }
  self->profile = profile;
  self->shapes.clear();
  return true;
}

bool SetInputShape(Context* self, const char* name, const Dims* dims) {
  const Tensor& tensor = self->plan->Find(name);
  if (!tensor.input || dims->count != tensor.dims.count) return false;
  for (int i = 0; i < dims->count; i++) {
    if (tensor.dims.d[i] >= 0 && tensor.dims.d[i] != dims->d[i]) {
      Log(self->logger, 1, "the shape is not the plan's");
      return false;
    }
  }
  if (!Within(*dims, tensor.profiles, self->profile)) {
    Log(self->logger, 1, "the shape is outside of the profile");
    return false;
  }
  self->shapes[name] = *dims;
  self->fresh = true;
  return true;
}

Dims ShapeOf(Context* self, const char* name) {
  const Tensor& tensor = self->plan->Find(name);
  if (!tensor.input) return OutputShape(self, tensor);
  return self->shapes.contains(name) ? self->shapes[name] : tensor.dims;
}

bool SetTensorAddress(Context* self, const char* name, uint64_t address) {
  const Tensor& tensor = self->plan->Find(name);
  if (!tensor.host && address % kAlignment != 0) Die("an address is not aligned");
  self->addresses[name] = address;
  return true;
}

bool SetOutputAllocator(Context* self, const char* name, void* allocator) {
  if (self->plan->Find(name).input) return false;
  self->allocators[name] = allocator;
  return true;
}

// Whether the first value of the plan's shape tensor equals the first dim of all other inputs.
bool HasRowsOfValues(Context* self) {
  if (self->plan->rows.empty()) return true;
  const int64_t rows = ValuesOf(self, self->plan->Find(self->plan->rows.c_str())).d[0];
  for (const Tensor& tensor : self->plan->tensors) {
    if (!tensor.input || tensor.host || self->shapes[tensor.name].d[0] == rows) continue;
    Log(self->logger, 1, "the first value of a shape tensor is not the rows of the other inputs");
    return false;
  }
  return true;
}

int32_t InferShapes(Context* self, int32_t, const char**) {
  int32_t missing = 0;
  for (const Tensor& tensor : self->plan->tensors) {
    if (!tensor.input) continue;
    // The values of a shape tensor are read here.
    if (!self->shapes.contains(tensor.name) ||
        (tensor.host && !self->addresses.contains(tensor.name))) {
      missing++;
      continue;
    }
    if (!tensor.host) continue;
    const Dims values = ValuesOf(self, tensor);
    if (!Within(values, tensor.values, self->profile)) {
      Log(self->logger, 1, "a value of a shape tensor is outside of the profile");
      return -1;
    }
  }
  if (missing == 0 && !HasRowsOfValues(self)) return -1;
  return missing;
}

void SetMemory(Context* self, uint64_t memory) {
  if (self->owns_memory) Die("a context with memory of its own was given some");
  self->memory = memory;
  self->memory_size = MemoryFor(*self->plan, self->plan->profiles - 1);
}
void SetSizedMemory(Context* self, uint64_t memory, int64_t size) {
  SetMemory(self, memory);
  self->memory_size = static_cast<size_t>(size);
}

// Holds back batches of some plans on the enqueuing threads.
struct Gate {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  std::string op;  // "": no batch is held back
  int waiting = 0;
};
Gate& TheGate() {
  static auto* const gate = new Gate();
  return *gate;
}

void PassGate(const std::string& op) {
  Gate& gate = TheGate();
  std::unique_lock lock(gate.mutex);
  if (gate.op != op) return;
  gate.waiting++;
  gate.changed.wait(lock, [&] { return gate.op != op; });
  gate.waiting--;
}

bool Enqueue(Context* self, void* stream) {
  CheckDevice(self->device, "a context");
  PassGate(self->plan->op);
  if (self->plan->op == "fail") {
    Log(self->logger, 1, "this plan always fails");
    return false;
  }
  if (!self->owns_memory) {
    const size_t needed = MemoryFor(*self->plan, self->profile);
    if (self->memory == 0 || self->memory % kAlignment != 0 || self->memory_size < needed)
      Die("a context has too little device memory");
  }
  // The one-time work for new shapes cannot be recorded.
  if (self->fresh && Driver<bool(void*)>("fakeCudaRecords")(stream)) {
    Log(self->logger, 1, "a batch is recorded with shapes that no batch had before");
    return false;
  }
  self->fresh = false;
  return Compute(self, stream);
}

void DestroyContext(Impl* self) {
  auto* const context = static_cast<Context*>(self);
  CheckDevice(context->device, "a context");
  if (*context->running > 0 && !Driver<bool(const void*)>("fakeCudaLost")(context->device))
    Die("a context was deleted while it computes a batch");
  delete context;
}

}  // namespace

Context* MakeContext(const Engine& engine, bool owns_memory) {
  static void* const* const table = TableOf({
      {"setDeviceMemory", 10, -1, 0, At(SetMemory)},
      {"setOptimizationProfileAsync", 17, 16, 0, At(SetProfile)},
      {"setInputShape", 21, 20, 0, At(SetInputShape)},
      {"getTensorShape", 22, 21, 0, At(ShapeOf)},
      {"setTensorAddress", 24, 23, 0, At(SetTensorAddress)},
      {"inferShapes", 28, 27, 0, At(InferShapes)},
      {"setOutputAllocator", 32, 31, 0, At(SetOutputAllocator)},
      {"enqueueV3", 37, 36, 0, At(Enqueue)},
      {"setDeviceMemoryV2", 49, 48, 9, At(SetSizedMemory)},
  });
  auto* const context = new Context();
  context->table = table;
  context->destroy = DestroyContext;
  context->logger = engine.logger;
  context->device = engine.device;
  context->plan = engine.plan;
  context->uses = engine.uses;
  context->owns_memory = owns_memory;
  return context;
}

}  // namespace tritonts::fakes::infer

// Holds back batches of plans with this `op` while they are enqueued; "": releases them.
EXPORTED void fakeInferHold(const char* op) {
  auto& gate = tritonts::fakes::infer::TheGate();
  const std::lock_guard lock(gate.mutex);
  gate.op = op;
  gate.changed.notify_all();
}
// The number of batches held back.
EXPORTED int fakeInferHeld() {
  auto& gate = tritonts::fakes::infer::TheGate();
  const std::lock_guard lock(gate.mutex);
  return gate.waiting;
}

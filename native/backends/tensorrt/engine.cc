#include "engine.h"

#include <utility>

#include "log.h"

namespace tritonts::tensorrt {

namespace {

std::vector<int64_t> VectorOf(const Dims& dims) {
  if (dims.count <= 0 || dims.count > Dims::kMost) return {};
  return {dims.d, dims.d + dims.count};
}

}  // namespace

StatusOr<std::shared_ptr<const Engine>> Engine::Read(const Library* library,
                                                     std::shared_ptr<device::Gpu> gpu,
                                                     std::string_view plan) {
  const device::Gpu::Current current(*gpu);
  if (!current.status().ok()) return current.status();
  std::shared_ptr<Engine> engine(new Engine(library, gpu));
  auto runtime = library->MakeRuntime();
  if (!runtime.ok()) return runtime.status();
  engine->runtime_ = runtime.value();
  ForgetLog();
  engine->engine_ = Call<Object*>(engine->runtime_, library->table().runtime.deserializeCudaEngine,
                                  static_cast<const void*>(plan.data()), plan.size());
  if (!engine->engine_) {
    return Failure(Code::kInvalidArg,
                   "TensorRT " + library->version().text +
                       " can't read the plan, which must have been built by this version "
                       "for this kind of GPU");
  }
  if (Status status = engine->ReadTensors(); !status.ok()) return status;
  return std::shared_ptr<const Engine>(std::move(engine));
}

Engine::~Engine() {
  const device::Gpu::Current current(*gpu_);
  Delete(engine_);
  Delete(runtime_);
}

Status Engine::ReadTensors() {
  const auto& at = table().engine;
  const int32_t count = Call<int32_t>(engine_, at.getNbIOTensors);
  for (int32_t i = 0; i < count; i++) {
    const char* const name = Call<const char*>(engine_, at.getIOTensorName, i);
    PlanTensor tensor;
    tensor.name = name;
    tensor.is_input = Call<int32_t>(engine_, at.getTensorIOMode, name) == kInput;
    const std::string what = (tensor.is_input ? "input '" : "output '") + tensor.name + "'";
    if (Call<int32_t>(engine_, at.getTensorLocation, name) == kOnHost ||
        Call<bool>(engine_, at.isShapeInferenceIO, name)) {
      return Status::Unsupported(what + " is a shape tensor, in host memory: not built yet");
    }
    if (const auto format = Call<int32_t>(engine_, at.getTensorFormat, name); format != kLinear) {
      return Status::Unsupported(what + " has the vectorised format " + std::to_string(format) +
                                 ", and only linear ones (0) can be passed");
    }
    const auto type = Call<int32_t>(engine_, at.getTensorDataType, name);
    tensor.datatype = TypeOf(type);
    tensor.type_name = TypeName(type);
    tensor.dims = VectorOf(Call<Dims>(engine_, at.getTensorShape, name));
    if (tensor.is_input) {
      tensor.least =
          VectorOf(Call<Dims>(engine_, at.getProfileShape, name, int32_t{0}, int32_t{kMin}));
      tensor.most =
          VectorOf(Call<Dims>(engine_, at.getProfileShape, name, int32_t{0}, int32_t{kMax}));
      // Without profiles they are not told.
      if (tensor.least.size() != tensor.dims.size()) tensor.least = tensor.dims;
      if (tensor.most.size() != tensor.dims.size()) tensor.most = tensor.dims;
    }
    tensors_.push_back(std::move(tensor));
  }
  return Status::Ok();
}

const PlanTensor* Engine::Find(const std::string& name, bool is_input) const {
  for (const PlanTensor& tensor : tensors_) {
    if (tensor.is_input == is_input && tensor.name == name) return &tensor;
  }
  return nullptr;
}

StatusOr<Object*> Engine::MakeContext() const {
  ForgetLog();
  Object* const context =
      Call<Object*>(engine_, table().engine.createExecutionContext, int32_t{kStaticMemory});
  if (!context) return Failure(Code::kUnavailable, "TensorRT makes no execution context");
  return context;
}

}  // namespace tritonts::tensorrt

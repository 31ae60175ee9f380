#include "instance.h"

#include <algorithm>
#include <span>

#include "log.h"

namespace tritonts::tensorrt {

namespace {

std::string TextOf(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

bool Within(std::span<const int64_t> shape, const PlanTensor& tensor) {
  if (shape.size() != tensor.least.size()) return false;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] < tensor.least[i] || shape[i] > tensor.most[i]) return false;
  }
  return true;
}

}  // namespace

TensorRtInstance::TensorRtInstance(std::shared_ptr<const Engine> engine,
                                   std::shared_ptr<const GpuModel> model)
    : GpuInstance(engine->gpu(), std::move(model)), engine_(std::move(engine)) {}

TensorRtInstance::~TensorRtInstance() {
  const device::Gpu::Current current(gpu());
  Delete(context_);
}

Status TensorRtInstance::Prepare() {
  const device::Gpu::Current current(gpu());
  if (!current.status().ok()) return current.status();
  auto context = engine_->MakeContext();
  if (!context.ok()) return context.status();
  context_ = context.value();
  return PrepareLanes();
}

Status TensorRtInstance::Shape(Batch& batch) {
  ForgetLog();
  for (size_t i = 0; i < batch.inputs.size(); i++) {
    const std::string& name = model().inputs[i].name;
    Status status = ShapeInput(batch.inputs[i], name);
    if (!status.ok()) return About("input", name, status);
  }
  const auto& at = engine_->table().context;
  if (Call<int32_t>(context_, at.inferShapes, int32_t{0}, static_cast<const char**>(nullptr)) != 0)
    return Failure(Code::kInternal, "TensorRT can't tell the shapes of the outputs");
  for (uint32_t i = 0; i < batch.outputs.size(); i++) {
    const std::string& name = model().outputs[i].name;
    const Dims dims = Call<Dims>(context_, at.getTensorShape, name.c_str());
    Status status = SetShape(
        batch, i, std::span(dims.d, static_cast<size_t>(std::clamp(dims.count, 0, Dims::kMost))));
    if (!status.ok()) return About("output", name, status);
  }
  return Status::Ok();
}

Status TensorRtInstance::ShapeInput(const Input& input, const std::string& name) {
  const std::vector<int64_t>& shape = input.gathered.shape;
  const PlanTensor& tensor = *engine_->Find(name, true);
  if (!Within(shape, tensor)) {
    return Status::InvalidArg("the batch has shape " + TextOf(shape) +
                              ", but profile 0 of the plan takes " + TextOf(tensor.least) + " to " +
                              TextOf(tensor.most));
  }
  Dims dims;
  dims.count = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  if (!Call<bool>(context_, engine_->table().context.setInputShape, name.c_str(),
                  static_cast<const Dims*>(&dims))) {
    return Failure(Code::kInternal, "TensorRT does not take its shape");
  }
  return Status::Ok();
}

Status TensorRtInstance::Launch(Batch& batch, device::cuda::Stream stream) {
  const auto& at = engine_->table().context;
  const auto place = [&](const char* what, const std::string& name, device::cuda::Address address) {
    if (Call<bool>(context_, at.setTensorAddress, name.c_str(), address)) return Status::Ok();
    return About(what, name, Failure(Code::kInternal, "TensorRT does not take its place"));
  };
  Status status;
  for (size_t i = 0; i < batch.inputs.size() && status.ok(); i++)
    status = place("input", model().inputs[i].name, batch.inputs[i].device.address());
  for (size_t i = 0; i < batch.outputs.size() && status.ok(); i++)
    status = place("output", model().outputs[i].name, batch.outputs[i].device.address());
  if (status.ok() && !Call<bool>(context_, at.enqueueV3, stream))
    return Failure(Code::kInternal, "TensorRT can't enqueue the batch");
  return status;
}

}  // namespace tritonts::tensorrt

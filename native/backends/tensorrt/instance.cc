#include "instance.h"

#include <algorithm>
#include <span>

#include "engine/request/shape_values.h"
#include "log.h"

namespace tritonts::tensorrt {

namespace {

// Reads the values of a shape tensor.
void ReadValues(const Gathered& gathered, DataType type, std::vector<int64_t>* values) {
  values->resize(gathered.buffer.size / ByteSize(type));
  for (size_t i = 0; i < values->size(); i++)
    (*values)[i] = ShapeValueAt(gathered.buffer.data, type, i);
}

// Encodes values in a shape tensor's datatype.
std::vector<char> ValuesAs(DataType type, std::span<const int64_t> values) {
  std::vector<char> bytes(values.size() * ByteSize(type));
  for (size_t i = 0; i < values.size(); i++) SetShapeValue(bytes.data(), type, i, values[i]);
  return bytes;
}

}  // namespace

TensorRtInstance::TensorRtInstance(std::shared_ptr<const Engine> engine,
                                   std::shared_ptr<const GpuModel> model)
    : GpuInstance(engine->gpu(), std::move(model)), engine_(std::move(engine)) {
  for (const TensorSpec& spec : this->model().inputs)
    inputs_.push_back(engine_->Find(spec.name, true));
  for (const TensorSpec& spec : this->model().outputs)
    outputs_.push_back(engine_->Find(spec.name, false));
  given_.resize(inputs_.size());
  values_.resize(inputs_.size());
  allocators_.resize(outputs_.size());
  told_late_.resize(outputs_.size());
}

TensorRtInstance::~TensorRtInstance() {
  submission_.reset();
  const device::Gpu::Current current(gpu());
  graphs_ = {};
  contexts_.reset();
}

Status TensorRtInstance::Prepare(const std::vector<int32_t>& profiles,
                                 const std::vector<GraphSpec>& graphs, bool own_thread) {
  const device::Gpu::Current current(gpu());
  if (!current.status().ok()) return current.status();
  if (Status status = PrepareLanes(); !status.ok()) return status;
  Status status = PrepareContexts(profiles, own_thread);
  if (status.ok()) status = PrepareGraphs(graphs);
  // Enqueued work uses memory that now returns to the pool.
  if (!status.ok()) gpu().Drain(kernels());
  return status;
}

Status TensorRtInstance::PrepareContexts(const std::vector<int32_t>& profiles, bool own_thread) {
  contexts_ = std::make_unique<Contexts>(engine_);
  Status status = contexts_->Make(profiles, kernels());
  if (!status.ok() || !(own_thread || MayWait())) return status;
  submission_ = std::make_unique<device::Submission>();
  if (!submission_->Start(gpu())) {
    return Status::Unavailable(Reason::kNoMemory,
                               "GPU " + std::to_string(gpu().id()) + ": no thread for the model");
  }
  EnqueueOn(*submission_);
  return status;
}

bool TensorRtInstance::MayWait() {
  // An output that depends on data does so for all shapes, including the optimal ones.
  const auto profile = static_cast<size_t>(contexts_->all().front().profile);
  context_ = contexts_->all().front().context;
  for (size_t i = 0; i < inputs_.size(); i++) {
    const PlanTensor& input = *inputs_[i];
    if (!SetInputShape(i, input.shapes[profile].best).ok()) return true;
    if (!input.on_host) continue;
    // The context keeps this address until a batch sets another.
    std::vector<char>& values = best_values_.emplace_back();
    values = ValuesAs(input.datatype, input.values[profile].best);
    if (values.empty() || !Call<bool>(context_, engine_->table().context.setTensorAddress,
                                      input.name.c_str(), values.data())) {
      return true;
    }
  }
  if (!InferShapes().ok()) return true;
  return std::any_of(outputs_.begin(), outputs_.end(), [this](const PlanTensor* output) {
    const Dims dims =
        Call<Dims>(context_, engine_->table().context.getTensorShape, output->name.c_str());
    const std::span shape(dims.d, static_cast<size_t>(std::clamp(dims.count, 0, Dims::kMost)));
    return !output->on_host &&
           std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; });
  });
}

Status TensorRtInstance::Shape(Batch& batch) {
  ForgetLog();
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Gathered& gathered = batch.inputs[i].gathered;
    batch.inputs[i].on_host = inputs_[i]->on_host;
    if (inputs_[i]->on_host) ReadValues(gathered, inputs_[i]->datatype, &values_[i]);
    given_[i] = {inputs_[i], gathered.shape, values_[i]};
  }
  auto context = contexts_->Choose(given_);
  if (!context.ok()) return context.status();
  context_ = context.value();
  graph_ = graphs_.Find(batch.lane, context_, given_);
  if (graph_ && !CanPad(batch)) graph_ = nullptr;
  return graph_ ? ShapeByGraph(batch) : ShapePlainly(batch);
}

Status TensorRtInstance::ShapePlainly(Batch& batch) {
  for (size_t i = 0; i < inputs_.size(); i++) {
    Status status = SetInput(batch, i);
    if (!status.ok()) return About("input", model().inputs[i].name, status);
  }
  if (Status status = InferShapes(); !status.ok()) return status;
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    Status status = ShapeOutput(batch, i);
    if (!status.ok()) return About("output", model().outputs[i].name, status);
  }
  return Status::Ok();
}

Status TensorRtInstance::InferShapes() {
  if (Call<int32_t>(context_, engine_->table().context.inferShapes, int32_t{0},
                    static_cast<const char**>(nullptr)) == 0) {
    return Status::Ok();
  }
  return Failure(Code::kInternal, "TensorRT can't tell the shapes of the outputs");
}

Status TensorRtInstance::SetInputShape(size_t index, std::span<const int64_t> shape) {
  Dims dims;
  dims.count = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  if (Call<bool>(context_, engine_->table().context.setInputShape, inputs_[index]->name.c_str(),
                 static_cast<const Dims*>(&dims))) {
    return Status::Ok();
  }
  return Failure(Code::kInternal, "TensorRT does not take its shape");
}

Status TensorRtInstance::SetInput(Batch& batch, size_t index) {
  const Gathered& gathered = batch.inputs[index].gathered;
  const std::string& name = inputs_[index]->name;
  if (Status status = SetInputShape(index, gathered.shape); !status.ok()) return status;
  if (!inputs_[index]->on_host) return Status::Ok();
  // TensorRT reads the values when it infers the shapes.
  if (Call<bool>(context_, engine_->table().context.setTensorAddress, name.c_str(),
                 gathered.buffer.data)) {
    return Status::Ok();
  }
  return Failure(Code::kInternal, "TensorRT does not take its values");
}

Status TensorRtInstance::ShapeOutput(Batch& batch, uint32_t index) {
  const PlanTensor& tensor = *outputs_[index];
  const Dims dims =
      Call<Dims>(context_, engine_->table().context.getTensorShape, tensor.name.c_str());
  const std::span shape(dims.d, static_cast<size_t>(std::clamp(dims.count, 0, Dims::kMost)));
  Output& output = batch.outputs[index];
  output.on_host = tensor.on_host;
  told_late_[index] = !tensor.on_host &&
                      std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; });
  // The shape depends on each batch's data.
  if (told_late_[index] && !allocators_[index])
    allocators_[index] = std::make_unique<OutputAllocator>();
  // A context keeps the allocator that the previous batch set.
  if (allocators_[index] &&
      !Call<bool>(context_, engine_->table().context.setOutputAllocator, tensor.name.c_str(),
                  static_cast<void*>(told_late_[index] ? allocators_[index].get() : nullptr))) {
    return Failure(Code::kInternal, "TensorRT takes no allocator for it");
  }
  if (!told_late_[index]) return SetShape(batch, index, shape);
  output.shape.clear();
  output.bytes = 0;
  return Status::Ok();
}

Status TensorRtInstance::Launch(Batch& batch, device::cuda::Stream stream) {
  if (!graph_) return LaunchPlainly(batch, stream);
  if (IsInPlace(*graph_, batch)) return graph_->graph.Launch(stream);
  // A larger batch has reallocated the lane's memory.
  return RecordGraph(graph_, stream);
}

Status TensorRtInstance::LaunchPlainly(Batch& batch, device::cuda::Stream stream) {
  Status status;
  for (size_t i = 0; i < inputs_.size() && status.ok(); i++) {
    if (!inputs_[i]->on_host) status = Place("input", inputs_[i]->name, batch.inputs[i].address());
  }
  for (size_t i = 0; i < outputs_.size() && status.ok(); i++) {
    Output& output = batch.outputs[i];
    if (told_late_[i]) {
      allocators_[i]->Begin(&output.device);
    } else {
      status = Place(
          "output", outputs_[i]->name,
          output.on_host ? reinterpret_cast<uintptr_t>(output.staging->data()) : output.address());
    }
  }
  if (!status.ok()) return status;
  const bool enqueued = Call<bool>(context_, engine_->table().context.enqueueV3, stream);
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    if (!told_late_[i]) continue;
    const OutputAllocator& told = *allocators_[i];
    status = told.status();
    if (status.ok() && !enqueued) continue;
    if (status.ok() && !told.told()) status = Status::Internal("TensorRT reported no shape for it");
    if (status.ok()) status = SetShape(batch, i, told.shape());
    if (!status.ok()) return About("output", outputs_[i]->name, status);
  }
  if (!enqueued) return Failure(Code::kInternal, "TensorRT can't enqueue the batch");
  return Status::Ok();
}

Status TensorRtInstance::Place(const char* what, const std::string& name, uintptr_t address) {
  if (Call<bool>(context_, engine_->table().context.setTensorAddress, name.c_str(), address))
    return Status::Ok();
  return About(what, name, Failure(Code::kInternal, "TensorRT does not take its place"));
}

}  // namespace tritonts::tensorrt

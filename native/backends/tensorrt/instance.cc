#include "instance.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <span>

#include "engine/base/exit.h"
#include "log.h"

namespace tritonts::tensorrt {

namespace {

Status About(const char* what, const std::string& name, const Status& status) {
  if (status.ok()) return status;
  return MakeStatus([&] {
    return Status(status.code(), std::string(what) + " '" + name + "': " + status.message());
  });
}

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

// The bytes of a tensor; false: they cannot be, or the shape has a dynamic dim.
bool BytesOf(std::span<const int64_t> shape, DataType datatype, size_t* bytes) {
  *bytes = ByteSize(datatype);
  for (const int64_t dim : shape) {
    if (dim < 0 ||
        (dim > 0 && *bytes > std::numeric_limits<size_t>::max() / 2 / static_cast<uint64_t>(dim))) {
      return false;
    }
    *bytes *= static_cast<size_t>(dim);
  }
  return true;
}

}  // namespace

TensorRtInstance::TensorRtInstance(std::shared_ptr<const Engine> engine,
                                   std::shared_ptr<const Plan> plan)
    : engine_(std::move(engine)), plan_(std::move(plan)), gpu_(*engine_->gpu()) {
  for (size_t i = 0; i < plan_->inputs.size(); i++)
    inputs_.push_back({{}, device::DeviceMemory(engine_->gpu())});
  for (size_t i = 0; i < plan_->outputs.size(); i++)
    outputs_.push_back({device::DeviceMemory(engine_->gpu()), {}, {}, 0, false});
}

TensorRtInstance::~TensorRtInstance() {
  const device::Gpu::Current current(gpu_);
  // A lost device frees nothing, and the process goes on without it.
  if (stream_) (void)gpu_.call().StreamDestroy(stream_);
  if (event_) (void)gpu_.call().EventDestroy(event_);
  Delete(context_);
  inputs_.clear();
  outputs_.clear();
}

Status TensorRtInstance::Prepare() {
  const device::Gpu::Current current(gpu_);
  if (!current.status().ok()) return current.status();
  auto context = engine_->MakeContext();
  if (!context.ok()) return context.status();
  context_ = context.value();
  const auto& call = gpu_.call();
  Status status =
      gpu_.Check(call.StreamCreate(&stream_, device::cuda::kNonBlocking), "cuStreamCreate");
  if (!status.ok()) {
    stream_ = nullptr;
    return status;
  }
  status = gpu_.Check(call.EventCreate(&event_, device::cuda::kWithoutTiming), "cuEventCreate");
  if (!status.ok()) event_ = nullptr;
  return status;
}

BlockRef TensorRtInstance::Allocate(MemoryKind kind, int, size_t size) {
  return kind == MemoryKind::kPinned ? gpu_.Pinned(size) : BlockRef();
}

Status TensorRtInstance::Copy(const Buffer& from, const Buffer& to) {
  return Status::Unsupported("nothing here copies from " + NameOf(from.kind, from.device) + " to " +
                             NameOf(to.kind, to.device));
}

void TensorRtInstance::Execute(Run& run) {
  run_ = RunRef(run);
  gpu_.Submit(this);
}

void TensorRtInstance::Enqueue() {
  const RuntimeCall call;
  Status status;
  if (!call.allowed()) {
    status = Status::Unavailable("the process is exiting");
  } else if (terminated_) {
    status = Status::Cancelled("the run was asked to end");
  } else {
    status = gpu_.fault();
  }
  if (status.ok()) {
    try {
      status = EnqueueBatch(*run_);
    } catch (const std::bad_alloc&) {
      status = Status::NoMemory();
    }
    if (status.ok()) status = gpu_.Notify(this, event_, stream_);
    // The run is the finishing thread's now, and may be over.
    if (status.ok()) return;
    // Part of it may be under way, and uses the memory of the instance.
    gpu_.Drain(stream_);
  }
  End(status);
}

Status TensorRtInstance::EnqueueBatch(Run& run) {
  ForgetLog();
  for (uint32_t i = 0; i < inputs_.size(); i++) {
    Status status = EnqueueInput(run, i);
    if (!status.ok()) return About("input", plan_->inputs[i].name, status);
  }
  run.MarkInputsReady();
  const auto& at = engine_->table().context;
  if (Call<int32_t>(context_, at.inferShapes, int32_t{0}, static_cast<const char**>(nullptr)) != 0)
    return Failure(Code::kInternal, "TensorRT can't tell the shapes of the outputs");
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    Status status = PlaceOutput(run, i);
    if (!status.ok()) return About("output", plan_->outputs[i].name, status);
  }
  if (!Call<bool>(context_, at.enqueueV3, stream_))
    return Failure(Code::kInternal, "TensorRT can't enqueue the batch");
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    Status status = EnqueueOutput(i);
    if (!status.ok()) return About("output", plan_->outputs[i].name, status);
  }
  return Status::Ok();
}

Status TensorRtInstance::EnqueueInput(Run& run, uint32_t index) {
  const TensorSpec& spec = plan_->inputs[index];
  Input& input = inputs_[index];
  Gathered& gathered = input.gathered;
  Status status = Gather(run, index, plan_->batching, &gathered, MemoryKind::kPinned, gpu_.id());
  if (!status.ok()) return status;
  if (!gathered.present) return Status::InvalidArg("is missing, and the plan has no value for it");
  const PlanTensor& tensor = *engine_->Find(spec.name, true);
  if (!Within(gathered.shape, tensor)) {
    return Status::InvalidArg("the batch has shape " + TextOf(gathered.shape) +
                              ", but profile 0 of the plan takes " + TextOf(tensor.least) + " to " +
                              TextOf(tensor.most));
  }
  // An empty tensor has an address, too.
  status = input.device.Reserve(std::max<size_t>(1, gathered.buffer.size));
  if (status.ok() && gathered.buffer.size > 0) {
    status = gpu_.Check(gpu_.call().MemcpyHtoDAsync(input.device.address(), gathered.buffer.data,
                                                    gathered.buffer.size, stream_),
                        "cuMemcpyHtoDAsync");
  }
  if (!status.ok()) return status;
  Dims dims;
  dims.count = static_cast<int32_t>(gathered.shape.size());
  std::copy(gathered.shape.begin(), gathered.shape.end(), dims.d);
  const auto& at = engine_->table().context;
  const char* const name = spec.name.c_str();
  if (!Call<bool>(context_, at.setInputShape, name, static_cast<const Dims*>(&dims)) ||
      !Call<bool>(context_, at.setTensorAddress, name, input.device.address())) {
    return Failure(Code::kInternal, "TensorRT does not take it");
  }
  return status;
}

Status TensorRtInstance::PlaceOutput(Run& run, uint32_t index) {
  const TensorSpec& spec = plan_->outputs[index];
  Output& output = outputs_[index];
  const auto& at = engine_->table().context;
  const char* const name = spec.name.c_str();
  const Dims dims = Call<Dims>(context_, at.getTensorShape, name);
  output.shape.assign(dims.d, dims.d + std::clamp(dims.count, 0, Dims::kMost));
  if (!BytesOf(output.shape, spec.datatype, &output.bytes)) {
    return Status::Unsupported("its shape " + TextOf(output.shape) +
                               " depends on data: not built yet");
  }
  if (plan_->batching && (output.shape.empty() || output.shape[0] != run.total_batch_size())) {
    return Status::Internal("the plan gives shape " + TextOf(output.shape) + " for a batch of " +
                            std::to_string(run.total_batch_size()) + " rows");
  }
  Status status = output.device.Reserve(std::max<size_t>(1, output.bytes));
  if (!status.ok()) return status;
  if (!Call<bool>(context_, at.setTensorAddress, name, output.device.address()))
    return Failure(Code::kInternal, "TensorRT does not take its place");
  const auto requests = run.requests();
  output.wanted = std::any_of(requests.begin(), requests.end(), [index](const Request* request) {
    return request->header->Wants(index);
  });
  return status;
}

Status TensorRtInstance::EnqueueOutput(uint32_t index) {
  Output& output = outputs_[index];
  if (!output.wanted || output.bytes == 0) return Status::Ok();
  output.staging = gpu_.Pinned(output.bytes);
  if (!output.staging)
    return Status::Unavailable("no memory for " + std::to_string(output.bytes) + " bytes");
  return gpu_.Check(gpu_.call().MemcpyDtoHAsync(output.staging->data(), output.device.address(),
                                                output.bytes, stream_),
                    "cuMemcpyDtoHAsync");
}

void TensorRtInstance::Finish(const Status& status) {
  run_->MarkComputed();
  Status given = status;
  try {
    for (uint32_t i = 0; i < outputs_.size() && given.ok(); i++)
      given = About("output", plan_->outputs[i].name, GiveOutput(*run_, i));
  } catch (const std::bad_alloc&) {
    given = Status::NoMemory();
  }
  End(given);
}

Status TensorRtInstance::GiveOutput(Run& run, uint32_t index) {
  Output& output = outputs_[index];
  if (!output.wanted) return Status::Ok();
  auto place = run.Output(Run::kAll, index, plan_->outputs[index].datatype,
                          std::span(output.shape).subspan(plan_->batching ? 1 : 0));
  if (!place.ok()) return place.status();
  if (output.bytes > 0) std::memcpy(place.value().data, output.staging->data(), output.bytes);
  return Status::Ok();
}

void TensorRtInstance::End(const Status& status) {
  for (Input& input : inputs_) input.gathered.buffer.owner.reset();
  for (Output& output : outputs_) output.staging.reset();
  const RunRef run = std::move(run_);
  run->RespondAll(About("model", plan_->model, status));
  run->InstanceFree();
}

}  // namespace tritonts::tensorrt

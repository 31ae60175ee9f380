#include "gpu_instance.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "engine/base/exit.h"
#include "lane.h"

namespace tritonts {

namespace {

// Up to this size, copying back on the kernels' stream is faster than making another stream wait.
constexpr size_t kShortCopy = size_t{64} << 10;

std::string TextOf(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

bool GpuInstance::TensorBytes(std::span<const int64_t> shape, DataType datatype, size_t* bytes) {
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

GpuInstance::GpuInstance(std::shared_ptr<device::Gpu> gpu, std::shared_ptr<const GpuModel> model)
    : gpu_(std::move(gpu)), model_(std::move(model)) {}

GpuInstance::~GpuInstance() {
  const device::Gpu::Current current(*gpu_);
  FreeStreams();
  lanes_.clear();
  gather_.reset();
}

void GpuInstance::FreeStreams() {
  // Calls on a lost device fail and free nothing. The process goes on without the device.
  for (size_t i = 0; i < streams_.size(); i++) {
    const auto first = std::find(streams_.begin(), streams_.end(), streams_[i]);
    const bool is_first = first == streams_.begin() + static_cast<std::ptrdiff_t>(i);
    if (streams_[i] && streams_[i] != own_.kernels && is_first)
      (void)gpu_->call().StreamDestroy(streams_[i]);
  }
  streams_ = {};
}

Status GpuInstance::PrepareLanes(const Own& own) {
  own_ = own;
  if (model_->gather_kernel_threshold > 0) {
    auto gather = device::GatherKernel::Load(*gpu_);
    if (!gather.ok()) return gather.status();
    gather_ = gather.take();
  }
  for (size_t i = 0; i < streams_.size(); i++) {
    const bool apart = i == 2 && model_->output_copy_stream;
    if (i > 0 && model_->max_concurrency == 1 && !apart) {
      streams_[i] = streams_[0];
      continue;
    }
    if (own.kernels && (i == 1 || model_->max_concurrency == 1)) {
      streams_[i] = own.kernels;
      continue;
    }
    auto stream = gpu_->MakeStream(model_->priority);
    if (!stream.ok()) return stream.status();
    streams_[i] = stream.value();
  }
  for (uint32_t i = 0; i < model_->max_concurrency; i++) {
    lanes_.push_back(std::make_unique<Lane>(*this, i));
    if (Status status = lanes_.back()->Prepare(); !status.ok()) return status;
  }
  for (const auto& lane : lanes_) idle_.push_back(lane.get());
  return Status::Ok();
}

GpuInstance::Batch& GpuInstance::BatchOf(uint32_t lane) {
  return lanes_[lane]->batch;
}

BlockRef GpuInstance::Allocate(MemoryKind kind, int, size_t size) {
  return kind == MemoryKind::kPinned ? gpu_->Pinned(size) : BlockRef();
}

Status GpuInstance::Copy(const Buffer& from, const Buffer& to) {
  return Status::Unsupported("cannot copy from " + NameOf(from.kind, from.device) + " to " +
                             NameOf(to.kind, to.device));
}

void GpuInstance::Execute(Run& run) {
  next_ = RunRef(run);
  (own_.submission ? *own_.submission : gpu_->submission()).Submit(this);
}

Status GpuInstance::Allowed() const {
  if (terminated_) return Status::Cancelled("the run was asked to end");
  return gpu_->fault();
}

GpuInstance::Lane& GpuInstance::TakeLane() {
  const std::lock_guard lock(mutex_);
  Lane* const lane = idle_.back();
  lane->alone = idle_.size() == lanes_.size();
  idle_.pop_back();
  return *lane;
}

device::cuda::Stream GpuInstance::DownFor(const Lane& lane) const {
  const auto [up, kernels, down] = streams_;
  if (!lane.alone || model_->output_copy_stream) return down;
  size_t bytes = 0;
  for (const Output& output : lane.batch.outputs) bytes += output.wanted ? output.bytes : 0;
  return bytes <= kShortCopy ? kernels : down;
}

RunRef GpuInstance::GiveBack(Lane& lane) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&lane);
  return std::move(waiting_);
}

void GpuInstance::Enqueue() {
  const RuntimeCall call;
  Lane& lane = TakeLane();
  lane.run = std::move(next_);
  lane.batch.run = &*lane.run;
  RunRef run = lane.run;
  Status status =
      call.allowed() ? Allowed() : Status::Unavailable(Reason::kClosed, "the process is exiting");
  if (status.ok()) {
    try {
      status = EnqueueBatch(lane);
    } catch (const std::bad_alloc&) {
      status = Status::NoMemory();
    }
    if (status.ok()) {
      status = gpu_->Notify(
          &lane, lane.end, lane.down,
          model_->busy_wait ? device::Gpu::Await::kSpinning : device::Gpu::Await::kToldByDriver);
    }
    if (!status.ok()) {
      // Some of the work may already be under way and use the lane's memory.
      for (const device::cuda::Stream stream : streams_) gpu_->Drain(stream);
      if (const Status fault = gpu_->fault(); !fault.ok()) status = fault;
    }
  }
  if (!status.ok()) End(lane, status);
  // On success the lane now belongs to the finishing thread, which may have answered the run
  // already. The run and the instance stay alive until that thread frees the instance.
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      waiting_ = std::move(run);
      return;
    }
  }
  run->InstanceFree();
}

Status GpuInstance::EnqueueBatch(Lane& lane) {
  Batch& batch = lane.batch;
  const auto count = static_cast<uint32_t>(batch.inputs.size());
  for (uint32_t i = 0; i < count; i++) {
    Status status = GatherInput(batch, i);
    if (!status.ok()) return About("input", model_->inputs[i].name, status);
  }
  Status status = Shape(batch);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < batch.outputs.size(); i++) {
    status = PlaceOutput(batch, i);
    if (!status.ok()) return About("output", model_->outputs[i].name, status);
  }
  const device::cuda::Stream kernels = streams_[1];
  const device::cuda::Stream up = lane.alone ? kernels : streams_[0];
  for (uint32_t i = 0; i < count; i++) {
    status = EnqueueInput(batch.inputs[i], up);
    if (!status.ok()) return About("input", model_->inputs[i].name, status);
  }
  const bool copied = std::any_of(batch.inputs.begin(), batch.inputs.end(),
                                  [](const Input& input) { return input.copied(); });
  if (copied) status = Follow(kernels, up, lane.inputs_copied);
  if (status.ok()) status = Record(lane.begun, kernels);
  if (status.ok()) status = Launch(batch, kernels);
  if (status.ok()) status = Record(lane.computed, kernels);
  if (!status.ok()) return status;
  lane.down = DownFor(lane);
  if (lane.down != kernels) {
    status =
        gpu_->Check(gpu_->call().StreamWaitEvent(lane.down, lane.computed, 0), "cuStreamWaitEvent");
    if (!status.ok()) return status;
  }
  for (uint32_t i = 0; i < batch.outputs.size(); i++) {
    status = EnqueueOutput(batch.outputs[i], lane.down);
    if (!status.ok()) return About("output", model_->outputs[i].name, status);
  }
  return status;
}

Status GpuInstance::SetShape(Batch& batch, uint32_t index, std::span<const int64_t> shape) const {
  Output& output = batch.outputs[index];
  output.shape.assign(shape.begin(), shape.end());
  if (!TensorBytes(shape, model_->outputs[index].datatype, &output.bytes)) {
    return Status::Unsupported("its shape " + TextOf(shape) +
                               " depends on data, which instances on GPUs do not support");
  }
  // The rows of a shape tensor come from its values, which are not computed yet.
  if (model_->outputs[index].rows_in_values) return Status::Ok();
  const uint32_t rows = batch.run->total_batch_size();
  if (model_->batching && (shape.empty() || shape[0] != static_cast<int64_t>(rows))) {
    return Status::Internal("the model returned shape " + TextOf(shape) + " for a batch of " +
                            std::to_string(rows) + " rows");
  }
  return Status::Ok();
}

Status GpuInstance::Record(device::cuda::Event event, device::cuda::Stream stream) {
  return gpu_->Check(gpu_->call().EventRecord(event, stream), "cuEventRecord");
}

Status GpuInstance::Follow(device::cuda::Stream stream, device::cuda::Stream other,
                           device::cuda::Event event) {
  if (stream == other) return Status::Ok();
  Status status = Record(event, other);
  if (!status.ok()) return status;
  return gpu_->Check(gpu_->call().StreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
}

void GpuInstance::End(Lane& lane, const Status& status) {
  for (Input& input : lane.batch.inputs) {
    input.gathered.buffer.owner.reset();
    input.gathered.parts.clear();
    input.on_host = false;
  }
  for (Output& output : lane.batch.outputs) {
    output.staging.reset();
    output.own.reset();
    output.tensor.reset();
    output.on_host = output.in_lane = false;
    output.computed.clear();
    // The responses refer to this shape until RespondAll returns. Only the finishing thread gets
    // here with responses, one batch at a time, so two shapes suffice.
    if (status.ok()) output.shape.swap(output.answered);
  }
  lane.batch.run = nullptr;
  const RunRef run = std::move(lane.run);
  Status told = About("model", model_->name, status);
  const RunRef waiting = GiveBack(lane);
  // With several lanes, start the next batch before answering this one. With one lane, answer
  // first, so that the next batch includes callers that send again at once. The instance lives as
  // long as its runs.
  const bool several = lanes_.size() > 1;
  if (waiting && several) waiting->InstanceFree();
  run->RespondAll(told);
  if (waiting && !several) waiting->InstanceFree();
}

Status GpuInstance::About(const char* what, const std::string& name, const Status& status) {
  if (status.ok()) return status;
  return MakeStatus(
      [&] { return status.With(std::string(what) + " '" + name + "': " + status.message()); });
}

}  // namespace tritonts

#include "onnx_gpu_instance.h"

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "describe.h"
#include "instance.h"
#include "value_block.h"

namespace tritonts::onnxruntime {

namespace {

// The address of empty tensors on the host: the runtime requires an address for them, too.
alignas(64) char no_tensor[64];

}  // namespace

OnnxGpuInstance::OnnxGpuInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan)
    : GpuInstance(session->place()->gpu(), plan->gpu),
      session_(std::move(session)),
      plan_(std::move(plan)),
      library_(session_->library()),
      table_(session_->table()),
      runs_(*session_),
      inputs_on_device_(plan_->inputs.size()),
      outputs_on_device_(plan_->outputs.size()),
      never_bound_(plan_->outputs.size()) {}

OnnxGpuInstance::~OnnxGpuInstance() {
  if (binding_) table_.Call(kReleaseIoBinding, binding_);
  if (device_memory_) table_.Call(kReleaseMemoryInfo, device_memory_);
}

Status OnnxGpuInstance::Prepare(const ModelDescription& description) {
  const device::Gpu::Current current(gpu());
  if (!current.status().ok()) return current.status();
  GpuPlace& place = *session_->place();
  Status status = PrepareLanes({&place.submission(), place.stream()});
  if (!status.ok()) return status;
  status = library_.Take(table_.Call(kCreateMemoryInfo, "Cuda", kDeviceAllocator, gpu().id(),
                                     kDefaultMemory, &device_memory_));
  if (status.ok()) {
    status = library_.Take(table_.Call(kCreateIoBinding, session_->get(), &binding_));
  }
  FindPlaces(description);
  if (status.ok()) status = runs_.Prepare(asynchronous_);
  return status;
}

void OnnxGpuInstance::FindPlaces(const ModelDescription& description) {
  if (!table_.Has(kSessionGetInputPlaces)) return;
  const auto find = [&](auto count_of, auto places_of, const auto& described, const auto& planned,
                        std::vector<bool>* on_device) {
    size_t count = 0;
    Status status = library_.Take(table_.Call(count_of, session_->get(), &count));
    std::vector<const OrtMemoryInfo*> places(count);
    if (status.ok() && count > 0) {
      status = library_.Take(table_.Call(places_of, session_->get(), places.data(), count));
    }
    for (size_t i = 0; i < planned.size() && status.ok(); i++) {
      // The inputs are followed by overridable initializers, for which the runtime reports no
      // memory.
      for (size_t k = 0; k < count; k++) {
        if (described[k].name != planned[i].name || !places[k]) continue;
        int32_t device = 0;
        table_.Call(kMemoryDevice, places[k], &device);
        (*on_device)[i] = device == kOnGpu;
      }
    }
    return status;
  };
  // The runtime cannot report outputs that no operator computes; it then reports none at all.
  const bool inputs = find(kSessionGetInputCount, kSessionGetInputPlaces, description.inputs,
                           plan_->inputs, &inputs_on_device_)
                          .ok();
  const bool outputs = find(kSessionGetOutputCount, kSessionGetOutputPlaces, description.outputs,
                            plan_->outputs, &outputs_on_device_)
                           .ok();
  asynchronous_ = inputs && outputs;
}

void OnnxGpuInstance::Terminate() {
  GpuInstance::Terminate();
  runs_.Terminate();
}

Status OnnxGpuInstance::Shape(Batch& batch) {
  const size_t rows = batch.run->total_batch_size();
  // A graph contains its tensors' addresses, so they must not change when batches grow.
  const size_t most = session_->settings().cuda_graphs() && plan_->batching && rows > 0
                          ? std::max<size_t>(rows, plan_->max_batch_size)
                          : rows;
  for (size_t i = 0; i < batch.inputs.size(); i++) {
    Input& input = batch.inputs[i];
    input.on_host = !inputs_on_device_[i];
    // A graph contains the addresses of the lane's memory.
    if (session_->settings().cuda_graphs()) input.in_place = 0;
    if (most == rows || input.on_host || !input.gathered.present) continue;
    Status status = input.device.Reserve(input.gathered.buffer.size / rows * most);
    if (!status.ok()) return About("input", plan_->inputs[i].name, status);
  }
  for (uint32_t i = 0; i < batch.outputs.size(); i++) {
    const OutputPlan& plan = plan_->outputs[i];
    Output& output = batch.outputs[i];
    output.on_host = !outputs_on_device_[i];
    output.in_lane = session_->settings().cuda_graphs();
    output.shape.clear();
    output.bytes = 0;
    if (!plan.fixed || never_bound_[i]) continue;
    std::vector<int64_t> shape = plan.dims;
    if (plan_->batching) shape[0] = static_cast<int64_t>(rows);
    Status status = SetShape(batch, i, shape);
    if (status.ok() && most != rows && !output.on_host)
      status = output.device.Reserve(plan.row_bytes * most);
    if (!status.ok()) return About("output", plan.name, status);
  }
  return Status::Ok();
}

Status OnnxGpuInstance::Launch(Batch& batch, device::cuda::Stream) {
  const auto alone = session_->OneRun();
  while (true) {
    const Status status = RunOnce(batch);
    if (status.ok() || !IsShapeMismatch(status)) return status;
    // The model declares a wrong output shape. The runtime tolerates that if it allocates the
    // output itself.
    bool bound = false;
    for (size_t i = 0; i < never_bound_.size(); i++) {
      bound = bound || (plan_->outputs[i].fixed && !never_bound_[i]);
      never_bound_[i] = true;
    }
    if (!bound) return status;
  }
}

Status OnnxGpuInstance::RunOnce(Batch& batch) {
  // However the run ends, no tensor may stay bound for the next one.
  struct Clearer {
    const Table& table;
    OrtIoBinding* binding;
    ~Clearer() {
      table.Call(kClearBoundInputs, binding);
      table.Call(kClearBoundOutputs, binding);
    }
  } const clearer{table_, binding_};
  Status status = BindInputs(batch);
  if (status.ok()) status = BindOutputs(batch);
  if (status.ok()) status = RunBound(batch);
  if (status.ok()) status = TakeOutputs(batch);
  return status;
}

Status OnnxGpuInstance::BindInputs(const Batch& batch) {
  for (size_t i = 0; i < batch.inputs.size(); i++) {
    const Input& input = batch.inputs[i];
    if (!input.gathered.present) continue;
    const InputPlan& plan = plan_->inputs[i];
    const Buffer& buffer = input.gathered.buffer;
    void* const host = buffer.data ? buffer.data : no_tensor;
    void* const data = input.on_host ? host : reinterpret_cast<void*>(input.address());
    const size_t rank = plan.scalar ? 0 : input.gathered.shape.size();
    Handle<OrtValue, kReleaseValue> value(table_);
    Status status = library_.Take(table_.Call(
        kCreateTensorOver, input.on_host ? session_->environment().cpu_memory : device_memory_,
        data, buffer.size, input.gathered.shape.data(), rank, plan.element, value.out()));
    if (status.ok()) {
      status = library_.Take(table_.Call(kBindInput, binding_, plan.name.c_str(), value.get()));
    }
    if (!status.ok()) return About("input", plan.name, status);
  }
  return Status::Ok();
}

Status OnnxGpuInstance::BindOutputs(const Batch& batch) {
  for (size_t i = 0; i < batch.outputs.size(); i++) {
    const Output& output = batch.outputs[i];
    if (!output.wanted) continue;
    const OutputPlan& plan = plan_->outputs[i];
    const OrtMemoryInfo* const memory =
        output.on_host ? session_->environment().cpu_memory : device_memory_;
    Status status;
    if (!plan.fixed || never_bound_[i]) {
      status = library_.Take(table_.Call(kBindOutputToDevice, binding_, plan.name.c_str(), memory));
    } else {
      Handle<OrtValue, kReleaseValue> value(table_);
      void* const data =
          output.on_host ? output.staging->data() : reinterpret_cast<void*>(output.address());
      status = library_.Take(table_.Call(kCreateTensorOver, memory, data, output.bytes,
                                         output.shape.data(), plan.scalar ? 0 : output.shape.size(),
                                         plan.element, value.out()));
      if (status.ok()) {
        status = library_.Take(table_.Call(kBindOutput, binding_, plan.name.c_str(), value.get()));
      }
    }
    if (!status.ok()) return About("output", plan.name, status);
  }
  return Status::Ok();
}

bool OnnxGpuInstance::KeyOf(const Batch& batch, std::vector<int64_t>* key) const {
  if (!session_->settings().cuda_graphs()) return false;
  for (const Input& input : batch.inputs) {
    key->push_back(input.gathered.present);
    if (!input.gathered.present) continue;
    if (input.on_host) return false;
    key->push_back(static_cast<int64_t>(input.device.address()));
    key->push_back(static_cast<int64_t>(input.gathered.shape.size()));
    key->insert(key->end(), input.gathered.shape.begin(), input.gathered.shape.end());
  }
  for (size_t i = 0; i < batch.outputs.size(); i++) {
    const Output& output = batch.outputs[i];
    key->push_back(output.wanted);
    if (!output.wanted) continue;
    if (output.on_host || !plan_->outputs[i].fixed || never_bound_[i]) return false;
    key->push_back(static_cast<int64_t>(output.device.address()));
  }
  return true;
}

Status OnnxGpuInstance::RunBound(const Batch& batch) {
  const OrtRunOptions* options = runs_.plain();
  std::vector<int64_t> key;
  if (KeyOf(batch, &key)) {
    auto found = runs_.For(key);
    if (!found.ok()) return found.status();
    options = found.value();
  }
  Status status = library_.Take(table_.Call(kRunWithBinding, session_->get(), options, binding_));
  if (!status.ok() && runs_.terminated()) return Status::Cancelled("the run was asked to end");
  return status;
}

Status OnnxGpuInstance::TakeOutputs(Batch& batch) {
  std::vector<uint32_t> wanted;
  bool allocated = false;  // the runtime allocated an output
  for (uint32_t i = 0; i < batch.outputs.size(); i++) {
    if (!batch.outputs[i].wanted) continue;
    wanted.push_back(i);
    allocated = allocated || !plan_->outputs[i].fixed || never_bound_[i];
  }
  if (!allocated) return Status::Ok();
  OrtAllocator* const allocator = session_->environment().allocator;
  OrtValue** values = nullptr;
  size_t count = 0;
  Status status =
      library_.Take(table_.Call(kGetBoundOutputs, binding_, allocator, &values, &count));
  if (!status.ok()) return status;
  if (count != wanted.size()) {
    status = Status::Internal("the runtime has " + std::to_string(count) + " outputs for " +
                              std::to_string(wanted.size()));
  }
  for (size_t i = 0; i < count; i++) {
    const bool ours = !status.ok() || (plan_->outputs[wanted[i]].fixed && !never_bound_[wanted[i]]);
    if (ours) {
      table_.Call(kReleaseValue, values[i]);
      continue;
    }
    // The values after this one must be released, too.
    try {
      status = TakeOutput(batch, wanted[i], values[i]);
    } catch (const std::bad_alloc&) {
      status = Status::NoMemory();
    }
    status = About("output", plan_->outputs[wanted[i]].name, status);
  }
  if (values) (void)library_.Take(table_.Call(kAllocatorFree, allocator, values));
  return status;
}

// Takes ownership of the value.
Status OnnxGpuInstance::TakeOutput(Batch& batch, uint32_t index, OrtValue* taken) {
  Handle<OrtValue, kReleaseValue> value(table_);
  *value.out() = taken;
  std::vector<int64_t> shape;
  const OrtMemoryInfo* memory = nullptr;
  void* data = nullptr;
  Status status = ReadTensorShape(*session_, taken, &shape);
  if (status.ok()) status = library_.Take(table_.Call(kGetTensorMemory, taken, &memory));
  if (status.ok()) status = library_.Take(table_.Call(kGetTensorData, taken, &data));
  if (!status.ok()) return status;
  if (shape.empty() && !plan_->batching) shape.push_back(1);
  status = SetShape(batch, index, shape);
  if (!status.ok()) return status;
  int32_t device = 0;
  table_.Call(kMemoryDevice, memory, &device);
  Output& output = batch.outputs[index];
  auto* const block = new ValueBlock(table_, taken, data ? data : no_tensor, output.bytes,
                                     device == kOnGpu ? MemoryKind::kDevice : MemoryKind::kHost,
                                     device == kOnGpu ? gpu().id() : 0);
  *value.out() = nullptr;
  output.own = BlockRef::Adopt(block);
  return Status::Ok();
}

}  // namespace tritonts::onnxruntime

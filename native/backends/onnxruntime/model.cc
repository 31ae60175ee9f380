#include "model.h"

#include <algorithm>
#include <limits>

#include "describe.h"
#include "instance.h"
#include "onnx_gpu_instance.h"

namespace tritonts::onnxruntime {

namespace {

const TensorDescription* Find(const std::vector<TensorDescription>& tensors,
                              const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

// Finds the model's tensor for a configured input or output, and checks that the server can pass
// it.
Status Match(const std::string& what, const TensorSpec& spec,
             const std::vector<TensorDescription>& tensors, const TensorDescription** found) {
  const TensorDescription* tensor = Find(tensors, spec.name);
  if (!tensor) {
    return Status::InvalidArg("the model has no " + what + " '" + spec.name + "'");
  }
  if (tensor->datatype == DataType::kInvalid || tensor->datatype != spec.datatype) {
    return Status::InvalidArg(what + " '" + spec.name + "' is configured as " +
                              Name(spec.datatype) + ", but the model has " + tensor->type_name);
  }
  *found = tensor;
  return Status::Ok();
}

bool IsScalar(const ModelIo& io, const TensorSpec& spec, const TensorDescription& tensor) {
  return io.max_batch_size == 0 && tensor.has_rank && tensor.dims.empty() &&
         spec.dims.size() == 1 && spec.dims[0] == 1;
}

// Computes the bytes of a row. Clears `fixed` if a dim varies or the size is not reasonable.
void FixSize(bool batching, OutputPlan* output) {
  size_t bytes = ByteSize(output->datatype);
  output->fixed =
      output->fixed && bytes > 0 && !output->passthrough && !(batching && output->dims.empty());
  for (size_t i = batching ? 1 : 0; output->fixed && i < output->dims.size(); i++) {
    const int64_t dim = output->dims[i];
    // A row is below 4 GiB, so the number of rows times its bytes cannot overflow.
    if (dim < 0 ||
        (dim > 0 && bytes > std::numeric_limits<uint32_t>::max() / static_cast<uint64_t>(dim))) {
      output->fixed = false;
    } else {
      bytes *= static_cast<size_t>(dim);
    }
  }
  output->row_bytes = output->fixed ? bytes : 0;
}

}  // namespace

Status OnnxModel::Configure(const ModelIo& io, std::string_view) {
  auto plan = std::make_shared<Plan>();
  plan->model = name_;
  plan->batching = io.max_batch_size > 0;
  plan->max_batch_size = io.max_batch_size;
  plan->io = io;
  for (const TensorSpec& spec : io.inputs) {
    const TensorDescription* tensor = nullptr;
    if (Status status = Match("input", spec, description_.inputs, &tensor); !status.ok()) {
      return status;
    }
    plan->inputs.push_back(
        {spec.name, spec.datatype, ToElementType(spec.datatype), IsScalar(io, spec, *tensor)});
  }
  for (const TensorSpec& spec : io.outputs) {
    const TensorDescription* tensor = nullptr;
    if (Status status = Match("output", spec, description_.outputs, &tensor); !status.ok()) {
      return status;
    }
    OutputPlan output;
    output.name = spec.name;
    output.datatype = spec.datatype;
    output.element = ToElementType(spec.datatype);
    output.scalar = IsScalar(io, spec, *tensor);
    output.passthrough = Find(description_.inputs, spec.name) != nullptr;
    output.dims = spec.dims;
    output.fixed = !spec.shaped_like;
    FixSize(plan->batching, &output);
    plan->outputs.push_back(std::move(output));
  }
  if (Status status = files_.CheckDims(io); !status.ok()) return status;
  plan->gpu = PlanGpu(io);
  plan_ = std::move(plan);
  return Status::Ok();
}

bool OnnxModel::on_gpus() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->place(); });
}

std::shared_ptr<const GpuModel> OnnxModel::PlanGpu(const ModelIo& io) const {
  // The runtime keeps strings in host memory only. Tensors that are not cut by rows are gathered
  // and split by the processor.
  const auto on_host = [](const TensorSpec& spec) {
    return spec.datatype == DataType::kBytes || spec.ragged || spec.of_batch || spec.shaped_like;
  };
  if (!on_gpus() || std::any_of(io.inputs.begin(), io.inputs.end(), on_host) ||
      std::any_of(io.outputs.begin(), io.outputs.end(), on_host)) {
    return nullptr;
  }
  const Settings& settings = sessions_[0]->settings();
  auto model = std::make_shared<GpuModel>();
  model->name = name_;
  model->batching = io.max_batch_size > 0;
  model->inputs = io.inputs;
  model->outputs = io.outputs;
  model->max_concurrency = static_cast<uint32_t>(settings.max_concurrency);
  model->busy_wait = settings.busy_wait_events;
  model->priority = settings.priority;
  model->gather_kernel_threshold = static_cast<uint32_t>(settings.gather_kernel_threshold);
  // The runtime itself reports missing inputs that it needs.
  model->may_lack_inputs = true;
  return model;
}

std::map<std::string, std::string> OnnxModel::Info() const {
  std::map<std::string, std::string> info = sessions_[0]->Info();
  if (!time_varies_.empty()) info.emplace("never_inline", time_varies_);
  return info;
}

std::vector<MemoryUse> OnnxModel::Memory() const {
  std::vector<MemoryUse> uses;
  uint64_t host = 0;
  for (const auto& session : sessions_) {
    std::vector<MemoryUse> one;
    session->AddMemory(&one);
    for (const MemoryUse& use : one) {
      if (IsHostMemory(use.kind)) {
        host += use.bytes;
      } else {
        uses.push_back(use);
      }
    }
  }
  if (host > 0) uses.insert(uses.begin(), {MemoryKind::kHost, 0, host});
  return uses;
}

StatusOr<std::unique_ptr<Instance>> OnnxModel::CreateInstance(const InstanceSpec& spec) {
  const int device = spec.memory == MemoryKind::kDevice ? spec.device : kCpu;
  const auto session = std::find_if(sessions_.begin(), sessions_.end(),
                                    [device](const auto& one) { return one->device() == device; });
  if (session == sessions_.end()) {
    return Status::InvalidArg("instance '" + spec.name + "' is to run on " +
                              (device == kCpu ? "the CPU" : "GPU " + std::to_string(device)) +
                              ", which is not among the devices that the model was loaded for");
  }
  if (device != kCpu && plan_->gpu) {
    auto instance = std::make_unique<OnnxGpuInstance>(*session, plan_);
    const Status status = instance->Prepare(description_);
    if (!status.ok()) return status;
    return std::unique_ptr<Instance>(std::move(instance));
  }
  auto instance = std::make_unique<OnnxInstance>(*session, plan_);
  if (Status status = instance->Prepare(); !status.ok()) return status;
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace tritonts::onnxruntime

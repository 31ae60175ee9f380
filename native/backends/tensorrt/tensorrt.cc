#include "tensorrt.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

#include "../../device/cuda.h"
#include "../../platform/dynamic_library.h"
#include "instance.h"

namespace tritonts {

namespace tensorrt {

namespace {

class TensorRtModel final : public Model {
 public:
  // `plan` has what the settings say.
  TensorRtModel(GpuModel plan, const Library* library,
                std::vector<std::shared_ptr<const Engine>> engines)
      : settings_(std::move(plan)), library_(library), engines_(std::move(engines)) {}

  ModelDescription Describe() const override {
    ModelDescription description;
    for (const PlanTensor& tensor : engines_.front()->tensors()) {
      auto& described = (tensor.is_input ? description.inputs : description.outputs).emplace_back();
      described.name = tensor.name;
      described.datatype = tensor.datatype;
      described.type_name = tensor.type_name;
      described.dims = tensor.dims;
    }
    return description;
  }

  Status Configure(const ModelIo& io) override {
    auto plan = std::make_shared<GpuModel>(settings_);
    plan->batching = io.max_batch_size > 0;
    plan->inputs = io.inputs;
    plan->outputs = io.outputs;
    for (const bool is_input : {true, false}) {
      for (const TensorSpec& spec : is_input ? io.inputs : io.outputs) {
        Status status = Match(spec, is_input, io.max_batch_size);
        if (!status.ok()) return status;
      }
    }
    // The plan runs only if all of its tensors have a place.
    for (const PlanTensor& tensor : engines_.front()->tensors()) {
      const auto& specs = tensor.is_input ? io.inputs : io.outputs;
      if (std::none_of(specs.begin(), specs.end(),
                       [&](const TensorSpec& spec) { return spec.name == tensor.name; })) {
        return Status::InvalidArg(std::string("the plan's ") +
                                  (tensor.is_input ? "input '" : "output '") + tensor.name +
                                  "' is not configured");
      }
    }
    plan_ = std::move(plan);
    return Status::Ok();
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    const auto engine = std::find_if(engines_.begin(), engines_.end(), [&](const auto& one) {
      return spec.memory == MemoryKind::kDevice && one->gpu()->id() == spec.device;
    });
    if (engine == engines_.end()) {
      return Status::InvalidArg("instance '" + spec.name +
                                "' is not on a GPU that the plan was loaded for");
    }
    auto instance = std::make_unique<TensorRtInstance>(*engine, plan_);
    if (Status status = instance->Prepare(); !status.ok()) return status;
    return std::unique_ptr<Instance>(std::move(instance));
  }

  std::map<std::string, std::string> Info() const override {
    return {{"library", library_->path()}, {"version", library_->version().text}};
  }

 private:
  Status Match(const TensorSpec& spec, bool is_input, uint32_t max_batch_size) const {
    const std::string what = (is_input ? "input '" : "output '") + spec.name + "'";
    const PlanTensor* const tensor = engines_.front()->Find(spec.name, is_input);
    if (!tensor) return Status::InvalidArg("the plan has no " + what);
    if (tensor->datatype == DataType::kInvalid || tensor->datatype != spec.datatype) {
      return Status::InvalidArg(what + " is configured as " + Name(spec.datatype) +
                                ", but the plan has " + tensor->type_name);
    }
    if (is_input && max_batch_size > 0 &&
        (tensor->most.empty() || tensor->most[0] < static_cast<int64_t>(max_batch_size))) {
      return Status::InvalidArg(
          "max_batch_size is " + std::to_string(max_batch_size) +
          ", but profile 0 of the plan takes " +
          (tensor->most.empty() ? "no rows" : "at most " + std::to_string(tensor->most[0])) +
          " for " + what);
    }
    return Status::Ok();
  }

  const GpuModel settings_;
  const Library* const library_;
  const std::vector<std::shared_ptr<const Engine>> engines_;  // one a GPU
  std::shared_ptr<const GpuModel> plan_;
};

std::string SettingOf(const std::map<std::string, std::string>& settings, const char* key) {
  const auto known = settings.find(key);
  return known == settings.end() ? "" : known->second;
}

StatusOr<std::vector<int>> DevicesOf(const std::map<std::string, std::string>& settings) {
  const std::string text = SettingOf(settings, "devices");
  std::vector<int> devices;
  for (const char *at = text.data(), *end = at + text.size(); at < end; at++) {
    int device = -1;
    const auto [next, error] = std::from_chars(at, end, device);
    if (error != std::errc() || device < 0) return Status::Internal("setting 'devices': " + text);
    devices.push_back(device);
    at = next;
  }
  if (devices.empty()) {
    return Status::Unsupported("plans run on GPUs only: an instance_group must be KIND_GPU");
  }
  return devices;
}

// What the instances do that does not follow from the plan.
StatusOr<GpuModel> GpuModelOf(const ModelSpec& spec) {
  GpuModel model;
  model.name = spec.name;
  const std::string count = SettingOf(spec.settings, "max_concurrency");
  if (!count.empty()) {
    const char* const end = count.data() + count.size();
    const auto [next, error] = std::from_chars(count.data(), end, model.max_concurrency);
    if (error != std::errc() || next != end || model.max_concurrency == 0)
      return Status::Internal("setting 'max_concurrency': " + count);
  }
  model.busy_wait = SettingOf(spec.settings, "busy_wait_events") == "true";
  const std::string priority = SettingOf(spec.settings, "priority");
  if (priority == "max") model.priority = device::Gpu::Priority::kMost;
  if (priority == "min") model.priority = device::Gpu::Priority::kLeast;
  return model;
}

StatusOr<std::string> BytesOf(const ModelSpec& spec) {
  if (!spec.files.empty()) {
    const auto file = spec.files.find(spec.path);
    if (file == spec.files.end()) return Status::NotFound("there is no " + spec.path);
    return *file->second;
  }
  std::ifstream file(platform::NativePath(spec.path), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) return Status::Unavailable(spec.path + " can't be read");
  return bytes;
}

}  // namespace

}  // namespace tensorrt

StatusOr<std::unique_ptr<Model>> TensorRtBackend::Load(const ModelSpec& spec) {
  using namespace tensorrt;
  auto devices = DevicesOf(spec.settings);
  if (!devices.ok()) return devices.status();
  auto model = GpuModelOf(spec);
  if (!model.ok()) return model.status();
  // The driver first: without it the library must not be called.
  const device::CudaDevices& found = device::FindCudaDevices();
  if (found.devices.empty()) return Status::Unavailable("there is no GPU: " + found.reason);
  auto library = Library::Open(SettingOf(spec.settings, "library"));
  if (!library.ok()) return library.status();
  auto plan = BytesOf(spec);
  if (!plan.ok()) return plan.status();
  std::vector<std::shared_ptr<const Engine>> engines;
  for (const int id : devices.value()) {
    auto gpu = device::Gpu::Open(found.driver, id);
    if (!gpu.ok()) return gpu.status();
    if (Status fault = gpu.value()->fault(); !fault.ok()) return fault;
    auto engine = Engine::Read(library.value(), gpu.take(), plan.value());
    if (!engine.ok()) return engine.status();
    engines.push_back(engine.take());
  }
  return std::unique_ptr<Model>(
      std::make_unique<TensorRtModel>(model.take(), library.value(), std::move(engines)));
}

StatusOr<std::map<std::string, std::string>> OpenTensorRt(
    const std::map<std::string, std::string>& settings) {
  auto library = tensorrt::Library::Open(tensorrt::SettingOf(settings, "library"));
  if (!library.ok()) return library.status();
  return std::map<std::string, std::string>{{"library", library.value()->path()},
                                            {"version", library.value()->version().text}};
}

}  // namespace tritonts

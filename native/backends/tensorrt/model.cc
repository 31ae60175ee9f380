#include "model.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "instance.h"

namespace tritonts::tensorrt {

namespace {

// Whether a tensor may have a batch's rows: as the first dim, or, for a shape tensor, as the first
// of several values.
bool MayBatch(const PlanTensor& tensor) {
  if (tensor.on_host) return tensor.dims.size() == 1 && tensor.dims[0] > 1;
  return !tensor.dims.empty() && tensor.dims[0] < 0;
}

// The largest number of rows that a profile accepts for all inputs.
int64_t RowsOf(const std::vector<PlanTensor>& tensors, int32_t profile) {
  // The largest possible max_batch_size.
  int64_t rows = std::numeric_limits<int32_t>::max();
  for (const PlanTensor& tensor : tensors) {
    if (!tensor.is_input) continue;
    const auto at = static_cast<size_t>(profile);
    const auto& most = tensor.on_host ? tensor.values[at].most : tensor.shapes[at].most;
    if (!most.empty()) rows = std::min(rows, most[0]);
  }
  return std::max<int64_t>(0, rows);
}

// The largest number of rows that every instance accepts with an engine; 0: no batching.
uint32_t MostRows(const Engine& engine, const Settings& settings) {
  const std::vector<PlanTensor>& tensors = engine.tensors();
  // Shape tensors alone do not show which tensor has the rows.
  const bool has_rows = std::any_of(tensors.begin(), tensors.end(), [](const PlanTensor& tensor) {
    return tensor.is_input && !tensor.on_host;
  });
  if (!has_rows || !std::all_of(tensors.begin(), tensors.end(), MayBatch)) return 0;
  int64_t most = std::numeric_limits<int32_t>::max();
  const auto count = static_cast<uint32_t>(std::max<size_t>(1, settings.profiles.size()));
  for (uint32_t instance = 0; instance < count; instance++) {
    int64_t rows = 0;
    for (const int32_t profile : settings.ProfilesOf(instance)) {
      // Creating the instance rejects a profile that does not exist.
      if (profile < engine.profiles()) rows = std::max(rows, RowsOf(tensors, profile));
    }
    most = std::min(most, rows);
  }
  return static_cast<uint32_t>(most);
}

// Describes the shapes that two profiles accept; equal texts mean the same shapes. Ignored are
// optimal shapes, configured fixed dims, and the maximum rows of a batch, which max_batch_size
// limits.
std::pair<std::string, std::string> Takes(Bounds one, Bounds other,
                                          const std::vector<int64_t>& configured, bool batching) {
  const size_t count = std::min({one.most.size(), other.most.size(), configured.size()});
  for (size_t i = 0; i < count; i++) {
    if (configured[i] >= 0) {
      for (Bounds* const bounds : {&one, &other})
        bounds->least[i] = bounds->most[i] = configured[i];
    } else if (batching && i == 0) {
      one.most[0] = other.most[0];
    }
  }
  return {one.Text(), other.Text()};
}

}  // namespace

ModelDescription TensorRtModel::DescriptionOf(const Engine& engine, const Settings& settings) {
  ModelDescription description;
  for (const PlanTensor& tensor : engine.tensors()) {
    auto& described = (tensor.is_input ? description.inputs : description.outputs).emplace_back();
    described.name = tensor.name;
    described.datatype = tensor.datatype;
    described.type_name = tensor.type_name;
    described.dims = tensor.dims;
    described.is_shape_tensor = tensor.on_host;
  }
  description.most_rows = MostRows(engine, settings);
  return description;
}

Status TensorRtModel::Configure(const ModelIo& io, std::string_view) {
  for (const bool is_input : {true, false}) {
    for (const TensorSpec& spec : is_input ? io.inputs : io.outputs) {
      Status status = Match(spec, is_input, io.max_batch_size > 0);
      if (!status.ok()) return status;
    }
  }
  // The plan runs only if all its tensors are configured.
  for (const PlanTensor& tensor : tensors()) {
    const auto& specs = tensor.is_input ? io.inputs : io.outputs;
    if (std::none_of(specs.begin(), specs.end(),
                     [&](const TensorSpec& spec) { return spec.name == tensor.name; })) {
      return Status::InvalidArg("the plan's " + TensorText(tensor.is_input, tensor.name) +
                                " is not configured");
    }
  }
  if (Status status = files_.CheckDims(io); !status.ok()) return status;
  if (Status status = CheckProfiles(io); !status.ok()) return status;
  if (io.max_batch_size > 0) {
    const uint32_t most = Describe().most_rows.value_or(0);
    if (most < io.max_batch_size) {
      return Status::InvalidArg(
          "max_batch_size is " + std::to_string(io.max_batch_size) +
          ", but the profiles of the plan that the instances use take " +
          (most == 0 ? "no batches" : "at most " + std::to_string(most) + " rows"));
    }
  }
  if (Status status = ConfigureGraphs(io); !status.ok()) return status;
  auto model = std::make_shared<GpuModel>(settings_.gpu);
  model->batching = io.max_batch_size > 0;
  model->inputs = io.inputs;
  model->outputs = io.outputs;
  model_ = std::move(model);
  return Status::Ok();
}

Status TensorRtModel::CheckProfiles(const ModelIo& io) const {
  const Engine& first = *engines_.front();
  for (const auto& other : engines_) {
    if (other->file() == first.file()) continue;
    if (other->profiles() != first.profiles()) {
      return Unlike("profiles", first.file(), std::to_string(first.profiles()), other->file(),
                    std::to_string(other->profiles()));
    }
    for (const TensorSpec& spec : io.inputs) {
      const PlanTensor& tensor = *first.Find(spec.name, true);
      const PlanTensor& same = *other->Find(spec.name, true);
      for (size_t profile = 0; profile < tensor.shapes.size(); profile++) {
        auto [takes, other_takes] =
            Takes(tensor.shapes[profile], same.shapes[profile], spec.dims, io.max_batch_size > 0);
        if (takes == other_takes && tensor.on_host) {
          // In a batch the first value is the number of rows.
          const std::vector<int64_t> variable(spec.rows_in_values ? 1 : 0, -1);
          std::tie(takes, other_takes) =
              Takes(tensor.values[profile], same.values[profile], variable, spec.rows_in_values);
        }
        if (takes == other_takes) continue;
        return Unlike(TensorText(true, spec.name) + ", profile " + std::to_string(profile),
                      first.file(), takes, other->file(), other_takes);
      }
    }
  }
  return Status::Ok();
}

Status TensorRtModel::ConfigureGraphs(const ModelIo& io) {
  if (!settings_.graphs.on) return Status::Ok();
  for (const PlanTensor& tensor : tensors()) {
    if (!tensor.on_host) continue;
    return Status::Unsupported(
        "optimization.cuda.graphs: " + TensorText(tensor.is_input, tensor.name) +
        " is a shape tensor, which a graph would not read again");
  }
  auto graphs = ResolveGraphs(settings_.graphs, io);
  if (!graphs.ok()) return graphs.status();
  graphs_ = graphs.take();
  return Status::Ok();
}

Status TensorRtModel::Match(const TensorSpec& spec, bool is_input, bool batching) const {
  const std::string what = TensorText(is_input, spec.name);
  const PlanTensor* const tensor = engines_.front()->Find(spec.name, is_input);
  if (!tensor) return Status::InvalidArg("the plan has no " + what);
  if (tensor->datatype == DataType::kInvalid || tensor->datatype != spec.datatype) {
    return Status::InvalidArg(what + " is configured as " + Name(spec.datatype) +
                              ", but the plan has " + tensor->type_name);
  }
  if (batching && spec.rows_in_values != tensor->on_host) {
    return Status::InvalidArg(
        what + (tensor->on_host
                    ? " is a shape tensor of the plan: in a model that batches it must "
                      "have is_shape_tensor: true"
                    : " has is_shape_tensor: true, but is no shape tensor of the plan"));
  }
  return Status::Ok();
}

StatusOr<std::unique_ptr<Instance>> TensorRtModel::CreateInstance(const InstanceSpec& spec) {
  const auto engine = std::find_if(engines_.begin(), engines_.end(), [&](const auto& one) {
    return spec.memory == MemoryKind::kDevice && one->gpu()->id() == spec.device;
  });
  if (engine == engines_.end()) {
    return Status::InvalidArg("instance '" + spec.name +
                              "' is not on a GPU that the plan was loaded for");
  }
  auto instance = std::make_unique<TensorRtInstance>(*engine, model_);
  Status status = instance->Prepare(settings_.ProfilesOf(spec.index), graphs_, settings_.blocking);
  if (!status.ok()) return status;
  return std::unique_ptr<Instance>(std::move(instance));
}

std::map<std::string, std::string> TensorRtModel::Info() const {
  return {
      {"library", library_->path()}, {"version", library_->version().text}, {"plugins", plugins_}};
}

}  // namespace tritonts::tensorrt

#include "settings.h"

#include <charconv>
#include <sstream>

namespace tritonts::tensorrt {

namespace {

std::string TextOf(const ModelSpec& spec, const char* key) {
  const auto known = spec.settings.find(key);
  return known == spec.settings.end() ? "" : known->second;
}

std::vector<std::string> Parts(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// Parses numbers of at least 0, separated by commas.
bool ReadNumbers(const std::string& text, std::vector<int32_t>* numbers) {
  for (const std::string& part : Parts(text, ',')) {
    int32_t number = -1;
    const char* const end = part.data() + part.size();
    const auto [next, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc() || next != end || number < 0) return false;
    numbers->push_back(number);
  }
  return true;
}

Status Wrong(const char* key, const std::string& text) {
  return Status::Internal(std::string("setting '") + key + "': " + text);
}

// Reads the settings that do not depend on the plan.
Status ReadGpuModel(const ModelSpec& spec, GpuModel* model) {
  model->name = spec.name;
  if (const std::string count = TextOf(spec, "max_concurrency"); !count.empty()) {
    std::vector<int32_t> numbers;
    if (!ReadNumbers(count, &numbers) || numbers.size() != 1 || numbers[0] == 0)
      return Wrong("max_concurrency", count);
    model->max_concurrency = static_cast<uint32_t>(numbers[0]);
  }
  if (const std::string least = TextOf(spec, "gather_kernel_buffer_threshold"); !least.empty()) {
    std::vector<int32_t> numbers;
    if (!ReadNumbers(least, &numbers) || numbers.size() != 1)
      return Wrong("gather_kernel_buffer_threshold", least);
    model->gather_kernel_threshold = static_cast<uint32_t>(numbers[0]);
  }
  model->output_copy_stream = TextOf(spec, "output_copy_stream") == "true";
  model->busy_wait = TextOf(spec, "busy_wait_events") == "true";
  const std::string priority = TextOf(spec, "priority");
  if (priority == "max") model->priority = device::Gpu::Priority::kMost;
  if (priority == "min") model->priority = device::Gpu::Priority::kLeast;
  return Status::Ok();
}

Status ReadGraphs(const ModelSpec& spec, GraphSettings* graphs) {
  graphs->on = TextOf(spec, "graphs") == "true";
  const std::string specs = TextOf(spec, "graph_specs");
  if (!ReadGraphSpecs(specs, &graphs->specs)) return Wrong("graph_specs", specs);
  std::vector<int32_t> rows;
  const std::string preferred = TextOf(spec, "preferred_batch_sizes");
  if (!ReadNumbers(preferred, &rows)) return Wrong("preferred_batch_sizes", preferred);
  graphs->preferred_rows.assign(rows.begin(), rows.end());
  return Status::Ok();
}

}  // namespace

const std::vector<int32_t>& Settings::ProfilesOf(uint32_t instance) const {
  static const auto* const first = new std::vector<int32_t>{0};
  return instance < profiles.size() ? profiles[instance] : *first;
}

StatusOr<Settings> ReadSettings(const ModelSpec& spec) {
  Settings settings;
  settings.library = TextOf(spec, "library");
  settings.version_compatible = TextOf(spec, "version_compatible") == "1";
  settings.lean_runtime = TextOf(spec, "lean_runtime");
  if (!settings.lean_runtime.empty() && !settings.version_compatible)
    return Wrong("lean_runtime", "needs version_compatible");
  settings.blocking = TextOf(spec, "execution_policy") == "BLOCKING";
  settings.plugins = Parts(TextOf(spec, "plugins"), '\n');
  const std::string devices = TextOf(spec, "devices");
  if (!ReadNumbers(devices, &settings.devices)) return Wrong("devices", devices);
  if (settings.devices.empty())
    return Status::Unsupported("plans run on GPUs only: an instance_group must be KIND_GPU");
  const std::string profiles = TextOf(spec, "profiles");
  for (const std::string& part : Parts(profiles, ';')) {
    auto& numbers = settings.profiles.emplace_back();
    if (!ReadNumbers(part, &numbers) || numbers.empty()) return Wrong("profiles", profiles);
  }
  if (Status status = ReadGraphs(spec, &settings.graphs); !status.ok()) return status;
  if (Status status = ReadGpuModel(spec, &settings.gpu); !status.ok()) return status;
  return settings;
}

}  // namespace tritonts::tensorrt

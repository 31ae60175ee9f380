#include "settings.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "../gpu/device_files.h"

namespace tritonts::onnxruntime {

namespace {

constexpr std::string_view kSessionConfig = "session_config.";
constexpr std::string_view kRunConfig = "run_config.";
constexpr std::string_view kCuda = "cuda.";
constexpr std::string_view kTensorRt = "tensorrt.";

Status Refuse(const std::string& key, const std::string& expected, const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the onnxruntime setting '" + key +
                            "' but received '" + value + "'");
}

bool ParseNumber(const std::string& text, int* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end && *number >= 0;
}

Status ReadNumber(const std::string& key, const std::string& value, int* number) {
  return ParseNumber(value, number) ? Status::Ok() : Refuse(key, "a number of at least 0", value);
}

Status ReadNumber(const std::string& key, const std::string& value, std::optional<int>* number) {
  return ReadNumber(key, value, &number->emplace());
}

Status ReadSwitch(const std::string& key, const std::string& value, bool* on) {
  if (value != "0" && value != "1") return Refuse(key, "0 or 1", value);
  *on = value == "1";
  return Status::Ok();
}

Status ReadSwitch(const std::string& key, const std::string& value, std::optional<bool>* on) {
  return ReadSwitch(key, value, &on->emplace());
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

Status ReadDevices(const std::string& key, const std::string& value, std::vector<int>* devices) {
  devices->clear();
  std::istringstream stream(value);
  for (std::string text; std::getline(stream, text, ',');) {
    int device = kCpu;
    const bool known = text == "-1" || ParseNumber(text, &device);
    if (!known || std::find(devices->begin(), devices->end(), device) != devices->end()) {
      return Refuse(key, "different ids of devices, -1 for the CPU,", value);
    }
    devices->push_back(device);
  }
  return devices->empty() ? Refuse(key, "at least one id", value) : Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "shared_pool") return ReadSwitch(key, value, &settings->shared_pool);
  if (key == "global_threads") return ReadNumber(key, value, &settings->global_threads);
  if (key == "fallback_threads") return ReadNumber(key, value, &settings->fallback_threads);
  if (key == "intra_op_threads") return ReadNumber(key, value, &settings->intra_op_threads);
  if (key == "inter_op_threads") return ReadNumber(key, value, &settings->inter_op_threads);
  if (key == "execution_mode") return ReadNumber(key, value, &settings->execution_mode);
  if (key == "allow_spinning") return ReadSwitch(key, value, &settings->allow_spinning);
  if (key == "spin_in_runs") return ReadSwitch(key, value, &settings->spin_in_runs);
  if (key == "graph_optimization_level") {
    return ReadNumber(key, value, &settings->graph_optimization_level);
  }
  if (key == "enable_cpu_mem_arena") return ReadSwitch(key, value, &settings->enable_cpu_mem_arena);
  if (key == "enable_mem_pattern") return ReadSwitch(key, value, &settings->enable_mem_pattern);
  if (key == "tensorrt") return ReadSwitch(key, value, &settings->use_tensorrt);
  if (key == "max_concurrency") return ReadNumber(key, value, &settings->max_concurrency);
  if (key == "gather_kernel_buffer_threshold")
    return ReadNumber(key, value, &settings->gather_kernel_threshold);
  if (key == "devices") return ReadDevices(key, value, &settings->devices);
  // device_files.cc reads these.
  if (key.starts_with(kFileOfDevice) || key == kWrittenDims) return Status::Ok();
  if (key == "library") {
    settings->library = value;
  } else if (key == "open_first") {
    settings->open_first = value;
  } else if (key == "profile_prefix") {
    settings->profile_prefix = value;
  } else if (key == "custom_op_libraries") {
    settings->custom_op_libraries = Lines(value);
  } else if (key.starts_with(kSessionConfig)) {
    settings->session_config.emplace_back(key.substr(kSessionConfig.size()), value);
  } else if (key.starts_with(kRunConfig)) {
    settings->run_config.emplace_back(key.substr(kRunConfig.size()), value);
  } else if (key.starts_with(kCuda)) {
    if (key == "cuda.device_id") return Refuse(key, "nothing, since 'devices' says it,", value);
    settings->cuda.emplace_back(key.substr(kCuda.size()), value);
  } else if (key.starts_with(kTensorRt)) {
    if (key == "tensorrt.device_id") return Refuse(key, "nothing, since 'devices' says it,", value);
    settings->tensorrt.emplace_back(key.substr(kTensorRt.size()), value);
  } else if (key == "priority") {
    if (value != "max" && value != "min") return Refuse(key, "max or min", value);
    settings->priority =
        value == "max" ? device::Gpu::Priority::kMost : device::Gpu::Priority::kLeast;
  } else if (key == "busy_wait_events") {
    if (value != "true") return Refuse(key, "true", value);
    settings->busy_wait_events = true;
  } else {
    return Status::InvalidArg("unknown onnxruntime setting '" + key + "'");
  }
  return Status::Ok();
}

}  // namespace

bool Settings::cuda_graphs() const {
  return std::any_of(cuda.begin(), cuda.end(), [](const auto& option) {
    return option.first == "enable_cuda_graph" &&
           (option.second == "1" || option.second == "true" || option.second == "True");
  });
}

StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& strings) {
  Settings settings;
  for (const auto& [key, value] : strings) {
    if (Status status = ReadSetting(key, value, &settings); !status.ok()) return status;
  }
  if (settings.execution_mode.value_or(0) > 1) {
    return Refuse("execution_mode", "0 or 1", std::to_string(*settings.execution_mode));
  }
  if (settings.max_concurrency < 1) return Refuse("max_concurrency", "a number of at least 1", "0");
  if (!settings.use_tensorrt && !settings.tensorrt.empty()) {
    return Status::InvalidArg("the onnxruntime settings tensorrt.<key> need tensorrt 1");
  }
  if (settings.spin_in_runs && settings.allow_spinning) {
    return Refuse("spin_in_runs", "0 beside allow_spinning", "1");
  }
  if (settings.shared_pool &&
      (settings.intra_op_threads || settings.inter_op_threads ||
       settings.allow_spinning.value_or(false) || settings.execution_mode.value_or(0) == 1)) {
    return Status::InvalidArg(
        "the onnxruntime settings intra_op_threads, inter_op_threads, allow_spinning 1 and "
        "execution_mode 1 need threads of the model's own, but shared_pool is 1");
  }
  return settings;
}

}  // namespace tritonts::onnxruntime

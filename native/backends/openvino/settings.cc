#include "settings.h"

#include <sstream>

#include "../common/read_setting.h"

namespace tritonts::openvino {

namespace {

constexpr const char* kBackend = "openvino";

Status ReadProperties(const std::string& text, Settings* settings) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return RefuseSetting(kBackend, "properties", "lines KEY=VALUE", line);
    }
    settings->properties.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "padding") return ReadFlag(kBackend, key, value, &settings->padding);
  if (key == "reshape") return ReadFlag(kBackend, key, value, &settings->reshape);
  if (key == "properties") return ReadProperties(value, settings);
  std::string* const text = key == "library"     ? &settings->library
                            : key == "device"    ? &settings->device
                            : key == "extension" ? &settings->extension
                                                 : nullptr;
  if (!text) return UnknownSetting(kBackend, key);
  *text = value;
  return Status::Ok();
}

}  // namespace

StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings) {
  Settings read;
  for (const auto& [key, value] : settings) {
    if (Status status = ReadSetting(key, value, &read); !status.ok()) return status;
  }
  return read;
}

}  // namespace tritonts::openvino

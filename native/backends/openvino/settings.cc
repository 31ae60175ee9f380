#include "settings.h"

#include <sstream>

namespace tritonts::openvino {

namespace {

Status Refuse(const std::string& key, const std::string& expected, const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the openvino setting '" + key +
                            "' but received '" + value + "'");
}

Status ReadFlag(const std::string& key, const std::string& value, bool* on) {
  if (value != "true" && value != "false") return Refuse(key, "true or false", value);
  *on = value == "true";
  return Status::Ok();
}

Status ReadProperties(const std::string& text, Settings* settings) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Refuse("properties", "lines KEY=VALUE", line);
    }
    settings->properties.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "padding") return ReadFlag(key, value, &settings->padding);
  if (key == "reshape") return ReadFlag(key, value, &settings->reshape);
  if (key == "properties") return ReadProperties(value, settings);
  std::string* const text = key == "library"     ? &settings->library
                            : key == "device"    ? &settings->device
                            : key == "extension" ? &settings->extension
                                                 : nullptr;
  if (!text) return Status::InvalidArg("unknown openvino setting '" + key + "'");
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

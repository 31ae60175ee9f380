#include "settings.h"

#include <charconv>
#include <sstream>

namespace tritonts::tensorflow {

namespace {

Status Refuse(const std::string& key, const std::string& expected, const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the tensorflow setting '" + key +
                            "' but received '" + value + "'");
}

Status ReadFlag(const std::string& key, const std::string& value, bool* on) {
  if (value != "true" && value != "false") return Refuse(key, "true or false", value);
  *on = value == "true";
  return Status::Ok();
}

Status ReadCount(const std::string& key, const std::string& value, uint32_t* count) {
  constexpr uint32_t kMost = 1u << 20;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, *count);
  if (error == std::errc() && stop == end && *count >= 1 && *count <= kMost) return Status::Ok();
  return Refuse(key, "a number from 1 to " + std::to_string(kMost), value);
}

Status ReadFormat(const std::string& value, Settings* settings) {
  if (value != "savedmodel" && value != "graphdef") {
    return Refuse("format", "savedmodel or graphdef", value);
  }
  settings->graphdef = value == "graphdef";
  return Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "format") return ReadFormat(value, settings);
  if (key == "session_threads") return ReadFlag(key, value, &settings->session_threads);
  if (key == "soft_placement") return ReadFlag(key, value, &settings->soft_placement);
  if (key == "intra_op_threads") return ReadCount(key, value, &settings->intra_op_threads);
  if (key == "inter_op_threads") return ReadCount(key, value, &settings->inter_op_threads);
  if (key == "share") return ReadCount(key, value, &settings->share);
  if (key == "init_ops") {
    std::istringstream stream(value);
    for (std::string line; std::getline(stream, line);) settings->init_ops.push_back(line);
    return Status::Ok();
  }
  std::string* const text = key == "library"     ? &settings->library
                            : key == "tag"       ? &settings->tag
                            : key == "signature" ? &settings->signature
                                                 : nullptr;
  if (!text) return Status::InvalidArg("unknown tensorflow setting '" + key + "'");
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

}  // namespace tritonts::tensorflow

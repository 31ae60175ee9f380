#include "settings.h"

#include <sstream>

#include "../common/read_setting.h"

namespace tritonts::tensorflow {

namespace {

constexpr const char* kBackend = "tensorflow";
constexpr uint32_t kMost = 1u << 20;

Status ReadFormat(const std::string& value, Settings* settings) {
  if (value != "savedmodel" && value != "graphdef") {
    return RefuseSetting(kBackend, "format", "savedmodel or graphdef", value);
  }
  settings->graphdef = value == "graphdef";
  return Status::Ok();
}

Status ReadLines(const std::string& value, std::vector<std::string>* lines) {
  std::istringstream stream(value);
  for (std::string line; std::getline(stream, line);) lines->push_back(line);
  return Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "format") return ReadFormat(value, settings);
  if (key == "session_threads") return ReadFlag(kBackend, key, value, &settings->session_threads);
  if (key == "soft_placement") return ReadFlag(kBackend, key, value, &settings->soft_placement);
  if (key == "intra_op_threads")
    return ReadNumber(kBackend, key, value, 1u, kMost, &settings->intra_op_threads);
  if (key == "inter_op_threads")
    return ReadNumber(kBackend, key, value, 1u, kMost, &settings->inter_op_threads);
  if (key == "share") return ReadNumber(kBackend, key, value, 1u, kMost, &settings->share);
  if (key == "init_ops") return ReadLines(value, &settings->init_ops);
  if (key == "operators") return ReadLines(value, &settings->operators);
  std::string* const text = key == "library"     ? &settings->library
                            : key == "tag"       ? &settings->tag
                            : key == "signature" ? &settings->signature
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

}  // namespace tritonts::tensorflow

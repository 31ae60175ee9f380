#include "settings.h"

#include <charconv>

namespace tritonts::pytorch {

namespace {

Status Refuse(const std::string& key, const std::string& expected, const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the pytorch setting '" + key +
                            "' but received '" + value + "'");
}

template <typename Flag>
Status ReadFlag(const std::string& key, const std::string& value, Flag* on) {
  if (value != "true" && value != "false") return Refuse(key, "true or false", value);
  *on = value == "true";
  return Status::Ok();
}

Status ReadCount(const std::string& key, const std::string& value, int32_t* count) {
  const char* const end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, *count);
  if (error == std::errc() && last == end && *count >= 0) return Status::Ok();
  return Refuse(key, "a number of threads", value);
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "cores") return ReadCount(key, value, &settings->cores);
  if (key == "intra_op") return ReadCount(key, value, &settings->intra_op);
  if (key == "inter_op") return ReadCount(key, value, &settings->inter_op);
  if (key == "inference") return ReadFlag(key, value, &settings->inference);
  if (key == "optimize") return ReadFlag(key, value, &settings->optimize);
  if (key == "share") return ReadFlag(key, value, &settings->share);
  if (key == "executor") return ReadFlag(key, value, &settings->executor);
  if (key == "profiling") return ReadFlag(key, value, &settings->profiling);
  if (key == "fuser") return ReadFlag(key, value, &settings->fuser);
  std::string* const text = key == "library" ? &settings->library
                            : key == "shim"  ? &settings->shim
                                             : nullptr;
  if (!text) return Status::InvalidArg("unknown pytorch setting '" + key + "'");
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

}  // namespace tritonts::pytorch

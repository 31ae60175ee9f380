#include "settings.h"

#include "../common/read_setting.h"

namespace tritonts::pytorch {

namespace {

constexpr const char* kBackend = "pytorch";
constexpr int32_t kMostThreads = 1 << 20;

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "cores") return ReadNumber(kBackend, key, value, 0, kMostThreads, &settings->cores);
  if (key == "intra_op")
    return ReadNumber(kBackend, key, value, 0, kMostThreads, &settings->intra_op);
  if (key == "inter_op")
    return ReadNumber(kBackend, key, value, 0, kMostThreads, &settings->inter_op);
  if (key == "inference") return ReadFlag(kBackend, key, value, &settings->inference);
  if (key == "optimize") return ReadFlag(kBackend, key, value, &settings->optimize);
  if (key == "share") return ReadFlag(kBackend, key, value, &settings->share);
  if (key == "executor") return ReadFlag(kBackend, key, value, &settings->executor);
  if (key == "profiling") return ReadFlag(kBackend, key, value, &settings->profiling);
  if (key == "fuser") return ReadFlag(kBackend, key, value, &settings->fuser);
  std::string* const text = key == "library" ? &settings->library
                            : key == "shim"  ? &settings->shim
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

}  // namespace tritonts::pytorch

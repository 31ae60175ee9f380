#include "settings.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <locale>
#include <sstream>
#include <string_view>

namespace tritonts::fil {

namespace {

Status RefuseSetting(const std::string& key, const std::string& expected,
                     const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the setting '" + key +
                            "' of the fil backend but received '" + value + "'");
}

Status ReadSwitch(const std::string& key, const std::string& value, bool* on) {
  if (value != "true" && value != "false") return RefuseSetting(key, "true or false", value);
  *on = value == "true";
  return Status::Ok();
}

Status ReadInteger(const std::string& key, const std::string& value, int64_t* number) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, *number);
  if (error != std::errc() || stop != end) return RefuseSetting(key, "an integer", value);
  return Status::Ok();
}

// Not from_chars, which some standard libraries lack for floats, nor strtof, which reads by the
// process' locale.
Status ReadDecimal(const std::string& key, const std::string& value, float* number) {
  std::istringstream stream(value);
  stream.imbue(std::locale::classic());
  double read = 0;
  if (!(stream >> read) || stream.peek() != std::istringstream::traits_type::eof()) {
    return RefuseSetting(key, "a decimal number", value);
  }
  *number = static_cast<float>(read);
  return Status::Ok();
}

Status ReadFormat(const std::string& value, Format* format) {
  static constexpr struct {
    std::string_view name;
    Format format;
  } kFormats[] = {
      {"xgboost", Format::kXgboostLegacy},        {"xgboost_json", Format::kXgboostJson},
      {"xgboost_ubj", Format::kXgboostUbj},       {"lightgbm", Format::kLightgbm},
      {"treelite_checkpoint", Format::kTreelite},
  };
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const auto& entry) { return entry.name == value; });
  if (found == std::end(kFormats)) {
    return Status::Unsupported(value + " not recognized as a valid serialization format.");
  }
  *format = found->format;
  return Status::Ok();
}

Status ReadSetting(const std::string& key, const std::string& value, Settings* settings) {
  if (key == "model_type") return ReadFormat(value, &settings->format);
  if (key == "is_classifier") return ReadSwitch(key, value, &settings->is_classifier);
  if (key == "predict_proba") return ReadSwitch(key, value, &settings->predict_proba);
  if (key == "treeshap_output") return ReadSwitch(key, value, &settings->treeshap_output);
  if (key == "threshold") return ReadDecimal(key, value, &settings->threshold);
  if (key == "output_columns") return ReadInteger(key, value, &settings->output_columns);
  if (key == "cpu_nthread") return ReadInteger(key, value, &settings->threads);
  return Status::InvalidArg("unknown setting '" + key + "' of the fil backend");
}

}  // namespace

StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings) {
  Settings read;
  for (const auto& [key, value] : settings) {
    if (Status status = ReadSetting(key, value, &read); !status.ok()) return status;
  }
  read.threads = std::max<int64_t>(0, read.threads);
  return read;
}

}  // namespace tritonts::fil

// Reads settings that TypeScript decides. `backend` names it in errors, which are INVALID_ARG.
#pragma once

#include <charconv>
#include <string>

#include "engine/base/status.h"

namespace tritonts {

inline Status RefuseSetting(const char* backend, const std::string& key,
                            const std::string& expected, const std::string& value) {
  return Status::InvalidArg("expected " + expected + " for the " + backend + " setting '" + key +
                            "' but received '" + value + "'");
}

inline Status UnknownSetting(const char* backend, const std::string& key) {
  return Status::InvalidArg("unknown " + std::string(backend) + " setting '" + key + "'");
}

// `Flag` is bool, or an optional one.
template <typename Flag>
Status ReadFlag(const char* backend, const std::string& key, const std::string& value, Flag* on) {
  if (value != "true" && value != "false") {
    return RefuseSetting(backend, key, "true or false", value);
  }
  *on = value == "true";
  return Status::Ok();
}

// A number from `least` to `most`.
template <typename Number>
Status ReadNumber(const char* backend, const std::string& key, const std::string& value,
                  Number least, Number most, Number* number) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, *number);
  if (error == std::errc() && stop == end && *number >= least && *number <= most) {
    return Status::Ok();
  }
  return RefuseSetting(backend, key,
                       "a number from " + std::to_string(least) + " to " + std::to_string(most),
                       value);
}

}  // namespace tritonts

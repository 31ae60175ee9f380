// The text of an error of the system.
#pragma once

#include <string>
#include <system_error>

namespace tritonts::platform {

// In English, as the standard library knows the error. Windows has texts of its own, in the user's
// language.
inline std::string ErrorText(const std::error_code& error) {
  return error.default_error_condition().message();
}

}  // namespace tritonts::platform

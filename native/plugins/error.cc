#include "plugins/error.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// In the order of TRITONSERVER_Error_Code.
constexpr Code kCodes[] = {Code::kUnknown,       Code::kInternal,    Code::kNotFound,
                           Code::kInvalidArg,    Code::kUnavailable, Code::kUnsupported,
                           Code::kAlreadyExists, Code::kCancelled};

}  // namespace

Status TakeError(TRITONSERVER_Error* error) noexcept {
  if (!error) return Status::Ok();
  const Status status = error->status;
  TRITONSERVER_ErrorDelete(error);
  return status;
}

TRITONSERVER_Error* NotSupported(const char* function, const char* reason) noexcept {
  return Guard([&] { return Status::Unsupported(std::string(function) + ": " + reason); });
}

TRITONSERVER_Error* NullArgument(const char* function, int argument) noexcept {
  return Guard([&] {
    return Status::InvalidArg(std::string(function) + ": its argument " + std::to_string(argument) +
                              " must not be null");
  });
}

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* msg) noexcept {
  const auto index = static_cast<size_t>(code);
  const Code known = index < std::size(kCodes) ? kCodes[index] : Code::kUnknown;
  return MakeError(MakeStatus([&] { return Status(known, msg ? msg : ""); }));
}

void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) noexcept {
  Errors::Delete(error);
}

TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) noexcept {
  const Code code = error->status.code();
  const auto* const found = std::find(std::begin(kCodes), std::end(kCodes), code);
  const auto index = found == std::end(kCodes) ? 0 : found - kCodes;
  return static_cast<TRITONSERVER_Error_Code>(index);
}

const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error) noexcept {
  // Triton's texts.
  constexpr const char* texts[] = {"Unknown",          "Internal",    "Not found",
                                   "Invalid argument", "Unavailable", "Unsupported",
                                   "Already exists",   "Cancelled"};
  return texts[static_cast<size_t>(TRITONSERVER_ErrorCode(error))];
}

const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) noexcept {
  return error->status.message().c_str();
}

}  // namespace tritonts::plugins

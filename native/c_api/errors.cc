#include "c_api/errors.h"

namespace tritonts::c_api {

const char* CodeName(Code code) noexcept {
  constexpr const char* names[] = {"UNKNOWN",     "UNKNOWN",        "INTERNAL",
                                   "NOT_FOUND",   "INVALID_ARG",    "UNAVAILABLE",
                                   "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"};
  const auto index = static_cast<size_t>(code);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : names[0];
}

const char* ReasonName(Reason reason) noexcept {
  constexpr const char* names[] = {"",
                                   "QUEUE_FULL",
                                   "TIMED_OUT",
                                   "CLOSED",
                                   "NOT_READY",
                                   "TOO_MUCH_IN_FLIGHT",
                                   "NO_MEMORY",
                                   "MISSING",
                                   "INSTANCE_ENDED",
                                   "UNREAD",
                                   "CIRCULAR_CALL",
                                   "DEVICE_LOST",
                                   "LOAD_FAILED",
                                   "NO_ADDON",
                                   "NO_CONNECTION",
                                   "NOT_ALLOWED",
                                   "SYSTEM_REFUSED"};
  const auto index = static_cast<size_t>(reason);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : names[0];
}

std::string Printable(std::string_view text) {
  std::string line;
  for (const char one : text) {
    const auto byte = static_cast<unsigned char>(one);
    line += byte < 0x20 || byte == 0x7f ? '?' : one;
  }
  return line;
}

}  // namespace tritonts::c_api

// Calls foreign code, such as a backend, and turns its exceptions into a status.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "engine/base/status.h"

namespace tritonts {

// Returns the result of `call`, a Status or a StatusOr. If `call` throws, returns INTERNAL (for
// std::bad_alloc UNAVAILABLE) with a message that names the model and what the backend was `doing`.
// If there is no memory for that message, returns `no_memory`. Any thread may call it.
template <typename Call>
auto Guarded(const std::string& model, const char* doing, Call&& call,
             const Status& no_memory = Status::NoMemory()) -> decltype(call()) {
  const auto failed = [&](Code code, const char* what, Reason reason = Reason::kNone) -> Status {
    try {
      return {code, "model '" + model + "': its backend failed " + doing + ": " + what, reason};
    } catch (const std::bad_alloc&) {
      return no_memory;
    }
  };
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return failed(Code::kUnavailable, "no memory", Reason::kNoMemory);
  } catch (const std::exception& error) {
    return failed(Code::kInternal, error.what());
  } catch (...) {
    return failed(Code::kInternal, "it threw something that is no std::exception");
  }
}

}  // namespace tritonts

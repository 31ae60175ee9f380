// Errors of the C API: statuses of the engine as objects that the caller deletes.
//
// Any thread may call any function of this file. Nothing throws, except where a comment says so.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/base/error_objects.h"
#include "engine/base/status.h"
#include "include/tritonts.h"

struct tritonts_error {
  tritonts::Status status;
};

namespace tritonts::c_api {

using Errors = ErrorObjects<tritonts_error>;

// See ErrorObjects.
inline tritonts_error* MakeError(const Status& status) noexcept {
  return Errors::Make(status);
}
template <typename Call>
tritonts_error* Guard(Call&& call) noexcept {
  return Errors::Guard(std::forward<Call>(call));
}
// The names of JavaScript's errors (src/addon/status.ts).
const char* CodeName(Code code) noexcept;
const char* ReasonName(Reason reason) noexcept;
// Reasons that only JavaScript makes.
constexpr Reason kLoadFailed{12};
constexpr int kMostReason = 16;

// A text of others, on one line. Throws std::bad_alloc.
std::string Printable(std::string_view text);

// INVALID_ARG for an argument of a function of the table. Throws std::bad_alloc.
inline Status WrongArgument(const char* function, const std::string& what) {
  return Status::InvalidArg(std::string(function) + ": " + what);
}

}  // namespace tritonts::c_api

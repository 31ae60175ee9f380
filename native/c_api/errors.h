// Errors of the C API: statuses of the engine as objects that the caller deletes.
//
// Any thread may call any function of this file. Nothing throws, except where a comment says so.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/status.h"
#include "include/tritonts.h"

struct tritonts_error {
  tritonts::Status status;
};

namespace tritonts::c_api {

// Null for ok. Without memory it returns an error that all callers share, and that Delete leaves.
tritonts_error* MakeError(const Status& status) noexcept;
void DeleteError(tritonts_error* error) noexcept;
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

// Calls what a function of the table does, and returns its status as an error.
template <typename Call>
tritonts_error* Guard(Call&& call) noexcept {
  try {
    return MakeError(std::forward<Call>(call)());
  } catch (const std::bad_alloc&) {
    return MakeError(Status::NoMemory());
  } catch (const std::exception& error) {
    return MakeError(MakeStatus([&] { return Status::Internal(error.what()); }));
  }
}

}  // namespace tritonts::c_api

// Errors as plug-ins see them: statuses of the engine as objects.
//
// Ownership: the caller's of the function that returned it, until TRITONSERVER_ErrorDelete.
// Any thread may call any function of this file.
#pragma once

#include <string>
#include <utility>

#include "engine/base/error_objects.h"
#include "engine/base/status.h"
#include "plugins/abi/types.h"

struct TRITONSERVER_Error {
  tritonts::Status status;
};

namespace tritonts::plugins {

using Errors = ErrorObjects<TRITONSERVER_Error>;

// See ErrorObjects.
inline TRITONSERVER_Error* MakeError(const Status& status) noexcept {
  return Errors::Make(status);
}
template <typename Call>
TRITONSERVER_Error* Guard(Call&& call) noexcept {
  return Errors::Guard(std::forward<Call>(call));
}
// The status of an error that a plug-in returned, which this deletes. Null: ok. Throws nothing.
Status TakeError(TRITONSERVER_Error* error) noexcept;
// UNSUPPORTED, with the name of the function. Makes all refusals of a kind read alike.
TRITONSERVER_Error* NotSupported(const char* function, const char* reason) noexcept;
// INVALID_ARG: an argument, counted from 1, must not be null. Not inline, because hundreds of
// functions refuse by it.
TRITONSERVER_Error* NullArgument(const char* function, int argument) noexcept;

}  // namespace tritonts::plugins

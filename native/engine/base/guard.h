// Where code that is not the engine's is called: what it throws becomes a status.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "engine/base/status.h"

namespace tritonts {

// What `call` returns, a Status or a StatusOr; where it throws, INTERNAL, or UNAVAILABLE for want
// of memory, that names the model and what it was `doing`. Any thread.
template <typename Call>
auto Guarded(const std::string& model, const char* doing, Call&& call) -> decltype(call()) {
  const auto text = [&](const char* what) {
    return "model '" + model + "': its backend failed " + doing + ": " + what;
  };
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return Status::Unavailable(text("no memory"));
  } catch (const std::exception& error) {
    return Status::Internal(text(error.what()));
  } catch (...) {
    return Status::Internal(text("it threw something that is no std::exception"));
  }
}

}  // namespace tritonts

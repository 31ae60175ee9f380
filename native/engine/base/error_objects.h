// Errors of a C interface: statuses as objects that the caller deletes, and the guard that keeps
// exceptions inside of the interface's functions.
//
// `Error` is a structure with one field, `Status status`. Any thread may call any function. Nothing
// throws.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "engine/base/status.h"

namespace tritonts {

template <typename Error>
class ErrorObjects {
 public:
  // Null for ok. Without memory it returns an error that all callers share, and that Delete leaves.
  static Error* Make(const Status& status) noexcept {
    if (status.ok()) return nullptr;
    auto* const error = new (std::nothrow) Error{status};
    return error ? error : NoMemory();
  }

  static void Delete(Error* error) noexcept {
    if (error != NoMemory()) delete error;
  }

  // Calls what a function of the interface does, and returns its status as an error. An exception
  // becomes an error, too.
  template <typename Call>
  static Error* Guard(Call&& call) noexcept {
    try {
      return Make(std::forward<Call>(call)());
    } catch (const std::bad_alloc&) {
      return Make(Status::NoMemory());
    } catch (const std::exception& error) {
      return Make(MakeStatus([&] { return Status::Internal(error.what()); }));
    } catch (...) {
      return Make(MakeStatus(
          [] { return Status::Internal("a call threw something that is no std::exception"); }));
    }
  }

 private:
  // Never destroyed, because threads may outlive static destructors.
  static Error* NoMemory() noexcept {
    static const union Shared {
      Shared() : error{Status::NoMemory()} {}
      ~Shared() {}
      Error error;
    } shared;
    return const_cast<Error*>(&shared.error);
  }
};

}  // namespace tritonts

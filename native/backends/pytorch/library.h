// libtorch, through the shim that was compiled against it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "../common/handle.h"
#include "engine/base/status.h"
#include "settings.h"
#include "shim/shim.h"

namespace tritonts::pytorch {

// The open library. There is at most one in a process, and it is never closed: two versions of
// libtorch would mix, because they look each other's parts up by name. Thread-safe.
class Library {
 public:
  // Opens the shim, which opens libtorch, or returns the library that is open. UNAVAILABLE, with
  // advice: the shim does not exist or does not fit, or another libtorch is open.
  static StatusOr<Library*> Open(const Settings& settings);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const TorchApi& api() const { return *api_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

  // Applies what a model's settings say about the process. The first number of threads that a model
  // writes stays; others have no effect (Info tells the number that is used).
  Status Apply(const Settings& settings);
  // Whether a model has written the number of threads of one operation.
  bool intra_op_written() const { return intra_op_written_.load(std::memory_order_relaxed); }

  // Called after the library has done something: it then may have opened more libraries, with exit
  // handlers, before which the engine's must run. Registers the engine's at the first call.
  void DidLoad();
  void DidRun();

  // Makes a status of a function's result, and frees it: INTERNAL with the error, and UNAVAILABLE
  // without memory. TorchScript's stack travels with the status to the cause of the error.
  // `prefix` begins the message.
  Status Take(TorchFault* fault, const std::string& prefix = "") const;

 private:
  Library(std::string path, std::string shim, const TorchApi* api, std::string version)
      : path_(std::move(path)), shim_(std::move(shim)), api_(api), version_(std::move(version)) {}
  static StatusOr<Library*> OpenNew(const Settings& settings);

  const std::string path_;
  const std::string shim_;
  const TorchApi* const api_;
  const std::string version_;
  std::mutex mutex_;  // held while settings are applied
  bool inter_op_written_ = false;
  std::atomic<bool> intra_op_written_{false};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> ran_{false};
};

using Module = Handle<TorchApi, TorchModule, &TorchApi::free_module>;
using Result = Handle<TorchApi, TorchResult, &TorchApi::free_result>;

}  // namespace tritonts::pytorch

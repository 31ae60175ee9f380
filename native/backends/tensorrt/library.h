// TensorRT's library. It is opened once a file, and never closed. Not for JS threads.
#pragma once

#include <map>
#include <string>

#include "engine/base/status.h"
#include "table.h"

namespace tritonts::tensorrt {

class Library {
 public:
  // Opens the library, a path or a name that the system looks up. UNAVAILABLE: it can't be opened,
  // or is none. UNSUPPORTED: its version.
  static StatusOr<const Library*> Open(const std::string& file);

  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }
  const Table& table() const { return kTable10; }

  // Makes a runtime. Only where the CUDA driver was started and has a GPU: otherwise the library
  // returns what looks like an object, and crashes with it.
  StatusOr<Object*> MakeRuntime() const;

  // `what` has failed: says so, with what the library has logged on this thread since it was last
  // asked.
  static Status Failure(Code code, const std::string& what);
  // Forgets what was logged on this thread.
  static void ForgetLog();

 private:
  Library() = default;

  std::string path_;
  std::string version_;
  int32_t number_ = 0;
  Object* (*create_runtime_)(void* logger, int32_t version) = nullptr;
};

}  // namespace tritonts::tensorrt

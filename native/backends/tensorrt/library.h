// TensorRT's library. It is opened once a file, and never closed. Not for JS threads.
#pragma once

#include <string>
#include <utility>

#include "engine/base/status.h"
#include "version.h"

namespace tritonts::tensorrt {

class Library {
 public:
  // Opens the library, a path or a name that the system looks up. UNAVAILABLE: it can't be opened,
  // or is none. UNSUPPORTED: its version.
  static StatusOr<const Library*> Open(const std::string& file);

  const std::string& path() const { return path_; }
  const Version& version() const { return version_; }
  const Table& table() const { return version_.table; }

  // Makes a runtime. Only where the CUDA driver was started and has a GPU: otherwise the library
  // returns what looks like an object, and crashes with it.
  StatusOr<Object*> MakeRuntime() const;

 private:
  explicit Library(Version version) : version_(std::move(version)) {}

  std::string path_;
  const Version version_;
  Object* (*create_runtime_)(void* logger, int32_t version) = nullptr;
};

}  // namespace tritonts::tensorrt

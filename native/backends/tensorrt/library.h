// TensorRT's library. It is opened once a file, and never closed. Not for JS threads.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

  // Registers the plugins of NVIDIA's library beside this one, if there is one, and those of these
  // files, which do so when they are opened. UNAVAILABLE: a file can't be opened. Only where the
  // CUDA driver was started.
  Status AddPlugins(const std::vector<std::string>& files) const;
  // NVIDIA's library of plugins, or "". May wait for AddPlugins.
  std::string plugins() const;

  // The error after a plan was not read: the log's words, and what helps. `host_code`: as it was
  // tried.
  Status CannotRead(bool host_code) const;

  // Makes a runtime. Only where the CUDA driver was started and has a GPU: otherwise the library
  // returns what looks like an object, and crashes with it.
  StatusOr<Object*> MakeRuntime() const;

  // Has a runtime load another one, a lean runtime of another version, which is called like it. It
  // must be deleted before that. UNAVAILABLE: it can't be loaded. UNSUPPORTED: there are none of
  // this TensorRT.
  StatusOr<Object*> LoadLeanRuntime(Object* runtime, const std::string& file) const;

 private:
  // With the lock.
  void AddNvidiasPlugins() const;
  explicit Library(Version version) : version_(std::move(version)) {}

  std::string path_;
  const Version version_;
  mutable std::mutex plugins_mutex_;  // guards the four below
  mutable bool plugins_looked_for_ = false;
  mutable std::string plugins_;
  mutable std::string plugins_fault_;
  mutable std::set<std::string> own_plugins_;
  Object* (*create_runtime_)(void* logger, int32_t version) = nullptr;
};

}  // namespace tritonts::tensorrt

// TensorRT's library. Each file is opened once and never closed. Not for JS threads.
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
  // Opens the library, a path or a name that the system resolves. UNAVAILABLE: it cannot be opened,
  // or is not TensorRT. UNSUPPORTED: its version.
  static StatusOr<const Library*> Open(const std::string& file);

  const std::string& path() const { return path_; }
  const Version& version() const { return version_; }
  const Table& table() const { return version_.table; }

  // Registers the plugins of NVIDIA's library next to this one, if any, and the plugins of `files`,
  // which register themselves when opened. UNAVAILABLE if a file cannot be opened. Requires a
  // started CUDA driver.
  Status AddPlugins(const std::vector<std::string>& files) const;
  // The path of NVIDIA's plugin library, or "". May wait for AddPlugins.
  std::string plugins() const;

  // The error for a plan that could not be read: the logged text, and advice. `host_code`: whether
  // host code was allowed.
  Status CannotRead(bool host_code) const;

  // Creates a runtime. Requires a started CUDA driver with a GPU: without one, the library returns
  // an invalid object, and crashes when that is used.
  StatusOr<Object*> MakeRuntime() const;

  // Makes a runtime load another one: a lean runtime of another version, which has the same
  // interface. Delete the loaded one first. UNAVAILABLE if it cannot be loaded. UNSUPPORTED if this
  // TensorRT has no lean runtimes.
  StatusOr<Object*> LoadLeanRuntime(Object* runtime, const std::string& file) const;

 private:
  // Requires the lock.
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

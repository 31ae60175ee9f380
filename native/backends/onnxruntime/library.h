// The ONNX Runtime library, opened once per file, and its environment.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "table.h"

namespace tritonts::onnxruntime {

// The environment of a library. The process has one per library. It is never released, because the
// runtime's threads and other users of the library may outlive this addon's use.
struct Environment {
  OrtEnv* env = nullptr;
  OrtMemoryInfo* cpu_memory = nullptr;
  OrtAllocator* allocator = nullptr;  // the runtime's default allocator, not owned
  // Whether the environment has a global thread pool. False if another user of the library
  // (onnxruntime-node) created the environment first, without one.
  bool shared_pool = false;
  int global_threads = 0;  // of the shared pool; 0: the runtime's default
};

// An open library: one per file, for the life of the process. Thread-safe.
class Library {
 public:
  // Opens the library at `path`, or returns the one that is open. UNAVAILABLE, with the
  // path and advice: the file does not exist, or is not a library, not ONNX Runtime, or too old.
  static StatusOr<Library*> Open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Table& table() const { return table_; }
  const std::string& path() const { return path_; }  // of the file that was loaded
  const std::string& version() const { return version_; }
  // Whether sessions may bound how long their threads spin. Older versions ignore the setting, and
  // their threads spin until the run ends.
  bool bounds_spins() const;

  // Returns the environment. The first call creates it, with a shared pool of `global_threads`
  // threads (0: the runtime's default) that do not spin. Later calls return the same environment.
  StatusOr<const Environment*> GetEnvironment(int global_threads);

  // Called after a session on a GPU was created. The provider's libraries register exit handlers,
  // and the engine's handler must run before those.
  void ProviderLoaded();

  // Turns the runtime's result into a status, INTERNAL with its text, and releases it.
  Status Take(OrtStatus* status) const;

 private:
  Library(std::string path, std::string version, Table table)
      : path_(std::move(path)), version_(std::move(version)), table_(table) {}

  Status CreateEnvironment(int global_threads);
  Status ProbeSharedPool();

  const std::string path_;
  const std::string version_;
  const Table table_;
  std::once_flag environment_made_;  // makes environment_ and environment_status_
  Environment environment_;
  std::once_flag provider_loaded_;
  Status environment_status_;
};

}  // namespace tritonts::onnxruntime

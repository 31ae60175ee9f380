// The ONNX Runtime library: found, checked, opened once for each file, and its environment.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "table.h"

namespace tritonts::onnxruntime {

// The process' one environment of a library. Never released: the runtime's threads and other users
// of the same library outlive whoever would release it.
struct Environment {
  OrtEnv* env = nullptr;
  OrtMemoryInfo* cpu_memory = nullptr;
  OrtAllocator* allocator = nullptr;  // the runtime's default one, not owned
  // False where somebody else (onnxruntime-node) made the environment first, without global pools.
  bool shared_pool = false;
  int global_threads = 0;  // of the shared pool; 0: the runtime's default
};

// An open library. One per file, for the life of the process; any thread may use it.
class Library {
 public:
  // Opens the library at `path`, or finds it open. UNAVAILABLE, with the path and what to do, when
  // there is no such file, or it is no library, no ONNX Runtime, or too old.
  static StatusOr<Library*> Open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Table& table() const { return table_; }
  const std::string& path() const { return path_; }  // of the file that is really loaded
  const std::string& version() const { return version_; }

  // The environment, made by the first call with a shared pool of `global_threads` threads (0: the
  // runtime's default) that do not spin. Later calls get the same one, whatever they ask for.
  StatusOr<const Environment*> GetEnvironment(int global_threads);

  // To be called when a session on a GPU is made: what its provider brought along has handlers of
  // its own for exit, which must come after ours.
  void ProviderLoaded();

  // The runtime's result as a status: INTERNAL with its text. Releases it.
  Status Take(OrtStatus* status) const;

 private:
  Library(std::string path, std::string version, Table table)
      : path_(std::move(path)), version_(std::move(version)), table_(table) {}

  Status CreateEnvironment(int global_threads);
  Status ProbeSharedPool();

  const std::string path_;
  const std::string version_;
  const Table table_;
  std::once_flag environment_made_;  // guards the making of the two below
  Environment environment_;
  std::once_flag provider_loaded_;
  Status environment_status_;
};

}  // namespace tritonts::onnxruntime

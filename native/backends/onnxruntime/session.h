// A model that the runtime has loaded. All instances of a model version on a device share it, and
// thereby the weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/backend.h"
#include "engine/base/status.h"
#include "gpu_place.h"
#include "library.h"
#include "pool_threads.h"
#include "settings.h"

namespace tritonts::onnxruntime {

// The model's file. `path` is that file, or a folder that contains model.onnx.
std::filesystem::path ModelFile(const std::string& path);

// Owned by the model and its instances. Thread-safe.
class Session {
 public:
  // Loads the model for one of the settings' devices, on a loader thread. INTERNAL, with the
  // runtime's text and the path, if the runtime cannot load it. For a GPU it also returns the
  // errors of AppendGpuProviders.
  static StatusOr<std::shared_ptr<Session>> Create(Library* library, const ModelSpec& spec,
                                                   Settings settings, int device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Library& library() const { return library_; }
  const Table& table() const { return library_.table(); }
  const Environment& environment() const { return environment_; }
  OrtSession* get() const { return session_; }
  int device() const { return device_; }            // kCpu or the id of a GPU
  GpuPlace* place() const { return place_.get(); }  // null: on the CPU
  // On a GPU, runs must not overlap, because they share the stream.
  std::unique_lock<std::mutex> OneRun() {
    return device_ == kCpu ? std::unique_lock<std::mutex>() : std::unique_lock(run_mutex_);
  }
  // The model's settings, with the chosen number of threads.
  const Settings& settings() const { return settings_; }

  // The facts that model.runtimeInfo() shows: library, version, shared_pool, intra_op_threads,
  // spinning ("off", "within runs", "always").
  std::map<std::string, std::string> Info() const;
  // Adds the memory of the session: weights, and the memory that its arenas took from the system.
  // Adds nothing if the runtime does not report it.
  void AddMemory(std::vector<MemoryUse>* uses) const;

 private:
  Session(Library* library, const Environment* environment, Settings settings, int device)
      : library_(*library),
        environment_(*environment),
        settings_(std::move(settings)),
        device_(device) {}

  Status Load(const ModelSpec& spec);
  // Creates the runtime's session with the present settings.
  Status Make(const ModelSpec& spec);
  // Creates the place on the GPU.
  Status Place();
  // The bytes that the session has allocated in this memory; 0: none, or unknown.
  uint64_t Allocated(const OrtMemoryInfo* memory) const;
  Status LoadFromMemory(const ModelSpec& spec, OrtSessionOptions* options);
  // Chooses the threads, and writes the choice back to the settings.
  Status SetThreads(const ModelSpec& spec, OrtSessionOptions* options);
  // Whether the model gets threads of its own instead of the shared ones.
  bool TakeThreads(const ModelSpec& spec);
  Status SetOptions(OrtSessionOptions* options) const;

  Library& library_;
  const Environment& environment_;
  Settings settings_;
  PoolThreads own_threads_;  // beside the shared pool's
  const int device_;
  std::unique_ptr<GpuPlace> place_;
  std::mutex run_mutex_;
  OrtSession* session_ = nullptr;
};

}  // namespace tritonts::onnxruntime

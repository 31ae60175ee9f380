// One loaded model of the runtime. All instances of a model version on a device share it, and so
// its weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/backend.h"
#include "engine/base/status.h"
#include "library.h"
#include "settings.h"

namespace tritonts::onnxruntime {

// The file at a model's path, which may be a folder that holds model.onnx.
std::filesystem::path ModelFile(const std::string& path);

// Owned by the model and its instances. Runs from any number of threads at once.
class Session {
 public:
  // Loads the model at `path`, a file or a folder that holds model.onnx, for one of the settings'
  // devices. INTERNAL with the runtime's text and the path when it can't, and what
  // AppendCudaProvider says for a GPU. A loader thread.
  static StatusOr<std::shared_ptr<Session>> Create(Library* library, const ModelSpec& spec,
                                                   Settings settings, int device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Library& library() const { return library_; }
  const Table& table() const { return library_.table(); }
  const Environment& environment() const { return environment_; }
  OrtSession* get() const { return session_; }
  int device() const { return device_; }  // kCpu, or the id of a GPU
  // Entries for the options of every run.
  const Settings& settings() const { return settings_; }

  // What model.runtimeInfo() shows: library, version, shared_pool, intra_op_threads, spinning.
  std::map<std::string, std::string> Info() const;

 private:
  Session(Library* library, const Environment* environment, Settings settings, int device)
      : library_(*library),
        environment_(*environment),
        settings_(std::move(settings)),
        device_(device) {}

  Status Load(const ModelSpec& spec);
  Status LoadFromMemory(const ModelSpec& spec, OrtSessionOptions* options);
  // Decides on the threads, and writes what was decided back to the settings.
  Status SetThreads(OrtSessionOptions* options);
  Status SetOptions(OrtSessionOptions* options) const;

  Library& library_;
  const Environment& environment_;
  Settings settings_;
  const int device_;
  OrtSession* session_ = nullptr;
};

}  // namespace tritonts::onnxruntime

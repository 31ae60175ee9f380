// Models and instances as plug-ins see them.
//
// Ownership: native/backends/plugin makes them. A model outlives its instances and keeps its
// backend. Threads: one at a time initialises and finalises; later any thread may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/memory_use.h"
#include "plugins/backend_plugin.h"
#include "plugins/batch.h"
#include "plugins/message.h"
#include "plugins/server.h"

namespace tritonts::plugins {

// The memory that a model, or an instance, has reported. Thread-safe.
class ReportedMemory {
 public:
  // Replaces an earlier report.
  void Set(std::vector<MemoryUse> uses) {
    const std::lock_guard lock(mutex_);
    uses_ = std::move(uses);
  }
  void AddTo(std::vector<MemoryUse>* all) const {
    const std::lock_guard lock(mutex_);
    all->insert(all->end(), uses_.begin(), uses_.end());
  }

 private:
  mutable std::mutex mutex_;
  std::vector<MemoryUse> uses_;
};

// A device that an instance uses besides its own.
struct SecondaryDevice {
  std::string kind;
  int64_t id = 0;
};

}  // namespace tritonts::plugins

struct TRITONBACKEND_Model {
  std::shared_ptr<TRITONBACKEND_Backend> backend;
  std::string name;
  uint64_t version = 0;
  std::string repository;  // the model's folder
  bool auto_complete = false;
  // Null: the model is not opened for a server that can be found.
  TRITONSERVER_Server* server = nullptr;
  bool initializing = false;
  void* state = nullptr;
  tritonts::plugins::ReportedMemory memory;

  // The configuration as far as it is known, as JSON. Guarded by `mutex`.
  std::mutex mutex;
  std::string config;
  std::string completed;  // what the model has set; "": nothing
};

namespace tritonts::plugins {

// Says, while it exists, that its thread initialises or finalises a model or an instance of it.
class LifeCall {
 public:
  explicit LifeCall(const TRITONBACKEND_Model& model);
  ~LifeCall();
  LifeCall(const LifeCall&) = delete;
  LifeCall& operator=(const LifeCall&) = delete;
  // CIRCULAR_CALL if this thread is in such a call for the model of this name, which cannot be
  // loaded or unloaded before the call has ended.
  static Status CheckIsOther(const TRITONSERVER_Server* server, const char* name);

 private:
  const TRITONBACKEND_Model* const outer_;
};

}  // namespace tritonts::plugins

struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model = nullptr;
  std::string name;
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  int32_t device = 0;
  std::unique_ptr<TRITONSERVER_Message> host_policy;
  bool passive = false;
  std::vector<std::string> profiles;
  std::vector<tritonts::plugins::SecondaryDevice> secondary;
  void* state = nullptr;
  tritonts::plugins::ReportedMemory memory;
};

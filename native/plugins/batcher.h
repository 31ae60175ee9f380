// Custom batching of a plug-in: its functions decide which requests run together.
//
//   ModelBatcherInitialize                            when the model is configured
//     BatchInitialize, IncludeRequest..., BatchFinalize    each time that a batch is formed
//   ModelBatcherFinalize                              when the model ends
//
// Ownership: the model's (native/backends/plugin), whose scheduler uses it. Threads: as BatchHook.
// The functions see queued requests, which they may read until IncludeRequest returns.
#pragma once

#include <memory>

#include "engine/request/batch_hook.h"
#include "plugins/backend_plugin.h"
#include "plugins/batch.h"

namespace tritonts::plugins {

// Whether this thread is in a function of custom batching. It holds the lock of a version then, so
// calls that may need such a lock are refused.
bool FormsBatch() noexcept;
// The refusal.
Status NotWhileBatching(const char* function);

class Batcher final : public BatchHook {
 public:
  // Calls ModelBatcherInitialize. `functions` has all five functions, and outlives the batcher, as
  // does `model`. Throws std::bad_alloc.
  static StatusOr<std::unique_ptr<Batcher>> Make(const BackendFunctions& functions,
                                                 TRITONBACKEND_Model* model,
                                                 std::shared_ptr<const ModelTensors> tensors);
  ~Batcher() override;
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  void Begin() override;
  bool Includes(const Request& request) override;
  void End() override;

 private:
  Batcher(const BackendFunctions& functions, std::shared_ptr<const ModelTensors> tensors);

  // Logs an error of a function and its effect, the first time.
  void Note(const Status& status, const char* function, const char* effect) noexcept;

  const BackendFunctions& functions_;
  const std::shared_ptr<const ModelTensors> tensors_;
  TRITONBACKEND_Request candidate_;
  TRITONBACKEND_Batcher* batcher_ = nullptr;  // the plug-in's
  void* user_ = nullptr;                      // the plug-in's, of the batch that is formed
  bool began_ = false;                        // BatchInitialize has succeeded
  bool has_failed_ = false;
};

}  // namespace tritonts::plugins

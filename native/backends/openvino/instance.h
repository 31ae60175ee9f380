// Instances of a model: one that runs a batch at a time on its own thread, and one with several
// batches under way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "compiled_model.h"
#include "engine/backend.h"
#include "engine/base/exit.h"
#include "infer_slot.h"
#include "platform/thread.h"

namespace tritonts::openvino {

// Runs a batch at a time (blocking). Terminate is thread-safe.
class OneRequestInstance final : public Instance {
 public:
  explicit OneRequestInstance(std::shared_ptr<const CompiledModel> model);
  Status Prepare();

  void Execute(Run& run) override;
  void Terminate() override;

 private:
  Status RunBatch(Run& run);

  const std::shared_ptr<const CompiledModel> model_;
  InferSlot slot_;
  bool ran_ = false;
  std::atomic<bool> terminated_{false};
};

// Has several infer requests, each with a batch under way (asynchronous). A thread of its own
// answers the batches that the library has computed, so that the library's threads go on at once.
class ManyRequestsInstance final : public Instance {
 public:
  ManyRequestsInstance(std::shared_ptr<const CompiledModel> model, uint32_t requests);
  // Waits until no batch is under way.
  ~ManyRequestsInstance() override;
  Status Prepare();

  bool asynchronous() const override { return true; }
  void Execute(Run& run) override;
  void Terminate() override;

 private:
  struct Slot {
    Slot(ManyRequestsInstance* its_owner, const CompiledModel& model)
        : owner(its_owner), infer(model.library(), model.plan()) {}
    ManyRequestsInstance* const owner;
    InferSlot infer;
    // The batch under way, and the mark that the runtime works.
    RunRef run;
    std::optional<RuntimeCall> call;
    OvCallback callback{Computed, this};  // the library keeps its address
    bool idle = true;
  };

  // Called by the library, on a thread of its own.
  static void Computed(void* slot);
  void AnswerBatches();
  Status Begin(Slot& slot, Run& run);
  // Responds to the batch of a slot, which is idle afterwards.
  void End(Slot& slot, const Status& status);

  const std::shared_ptr<const CompiledModel> model_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::atomic<bool> terminated_{false};
  platform::Thread thread_;
  bool ran_ = false;  // for thread_ alone

  std::mutex mutex_;  // guards the rest and Slot::idle
  std::condition_variable changed_;
  std::vector<Slot*> computed_;  // never more than slots_, for which it has room
  RunRef waiting_;               // the run that took the last idle slot
  bool closing_ = false;
};

}  // namespace tritonts::openvino

// The life of a run: its holds, its references, and the notifications to its version.
//
// An assigned run is reference-counted, by the version and by RunRefs, and returns to its pool with
// its last reference. It also has *holds*: one for each request whose final response is not
// delivered, one until Execute has returned, and one until the instance is free. If the version
// keeps an order of responses, one more hold lasts until the run has passed. The thread that drops
// the last hold notifies the version, which adds the run to its statistics and drops its reference.
//
//   idle --Assign--> assigned --Begin--> executing --Returned--> handed over --last hold--> done
//                       |                    |                       |                       |
//                       | Disband            +-- last request done --+        last RunRef    |
//                       +--------------------------------------------------------> idle <---+
//
// Owned by a run. Lock-free and thread-safe, unless stated otherwise. After a call that dropped a
// hold or a reference, the run may already have another batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/batch/batch_additions.h"
#include "engine/batch/run_outputs.h"

namespace tritonts {

struct InstanceRunner;
class PooledRun;
class RunPool;

// The notifications of a run to its version. Called on any thread, without the run's lock.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // Returns shared ownership of this object, for a run.
  virtual std::shared_ptr<RunOwner> Share() = 0;
  // The instance may get its next batch. `done` is the run if this dropped its last hold, otherwise
  // null.
  virtual void OnInstanceFree(InstanceRunner* runner, PooledRun* done) = 0;
  // The run's last hold was dropped, and it is to be added to the statistics.
  virtual void OnDone(PooledRun* run) = 0;
  // A request of the run is to be queued again.
  virtual void OnReschedule(Request* request) = 0;
};

class RunLife {
 public:
  // The outputs and additions are cleared when the last hold is dropped.
  RunLife(PooledRun* run, RunOutputs* outputs, BatchAdditions* additions)
      : run_(run), outputs_(outputs), additions_(additions) {}

  // --- Under the version's lock.
  // Called by the pool, which hands the run out with one reference.
  void Leave(RunPool* pool);
  bool idle() const { return holds_.load(std::memory_order_relaxed) == 0; }
  void Assign(std::shared_ptr<RunOwner> owner, InstanceRunner* runner, uint32_t holds);
  void Disband();
  // Called when the run was added to the statistics.
  void Account() { owner_.reset(); }
  InstanceRunner* runner() const { return runner_; }

  // --- Execute.
  // Called under the version's lock when a thread takes the run to Execute. Disband is no longer
  // allowed then.
  void SetUnderWay() { execution_.store(Execution::kUnderWay, std::memory_order_relaxed); }
  // Execute has returned. False: the run was abandoned meanwhile.
  bool Returned() {
    return execution_.exchange(Execution::kNone, std::memory_order_acq_rel) !=
           Execution::kAbandoned;
  }
  // Abandons the run; its holds are never dropped. True: Execute is under way.
  bool Abandon();

  // --- Holds.
  // Marks the instance as free. False: an earlier call did so.
  bool FreeInstance() { return !freed_.exchange(true, std::memory_order_acq_rel); }
  // Frees the instance and notifies the version, once for each run.
  void InstanceFree();
  // Drops holds. True: they were the last ones, and the caller must notify the version.
  bool ReleaseHolds(uint32_t holds);
  // Drops holds, and notifies the version if they were the last ones.
  void Drop(uint32_t holds);
  // Queues a request again, and drops its hold.
  void Requeue(Request* request);

  // --- References.
  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release();
  // Release under the version's lock.
  void ReleaseLocked();

 private:
  enum class Execution : uint8_t { kNone, kUnderWay, kAbandoned };

  PooledRun* const run_;
  RunOutputs* const outputs_;
  BatchAdditions* const additions_;
  // Set by Assign and fixed until the run is idle again.
  InstanceRunner* runner_ = nullptr;
  std::shared_ptr<RunOwner> owner_;  // the version, as long as there are holds
  RunPool* home_ = nullptr;          // its pool, as long as the run is not idle

  std::atomic<uint32_t> references_{0};  // RunRefs, and the version's until Account
  std::atomic<uint32_t> holds_{0};
  std::atomic<bool> freed_{false};
  std::atomic<Execution> execution_{Execution::kNone};
};

}  // namespace tritonts

// The life of a run: what holds it, who refers to it, and what its version is told of that.
//
// An assigned run is reference-counted, by the version and by RunRefs, and returns to its pool with
// its last reference. It also has *holds*: one for each request whose final response is not
// delivered, one until Execute has returned, one until the instance is free, and, where the version
// keeps the order of responses, one until the order has passed the run. Who drops the last hold
// tells the version, which adds the run to its statistics and drops its reference.
//
//   idle --Assign--> assigned --Begin--> executing --Returned--> handed over --last hold--> done
//                       |                    |                       |                       |
//                       | Disband            +-- last request done --+        last RunRef    |
//                       +--------------------------------------------------------> idle <---+
//
// A run owns it. It needs no lock: any thread calls it, unless a comment names another rule. After
// a call that dropped a hold or a reference, the run may be another batch's.
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

// What a run tells its version. Called on any thread; the run holds no lock.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // Shares the ownership of itself with a run.
  virtual std::shared_ptr<RunOwner> Share() = 0;
  // The instance may get its next batch. `done` is the run if that was its last hold, else null.
  virtual void OnInstanceFree(InstanceRunner* runner, PooledRun* done) = 0;
  // The run's last hold was dropped: it is to be added to the statistics.
  virtual void OnDone(PooledRun* run) = 0;
  // A request of the run is to be queued again.
  virtual void OnReschedule(Request* request) = 0;
};

class RunLife {
 public:
  // The last hold clears the outputs and the additions.
  RunLife(PooledRun* run, RunOutputs* outputs, BatchAdditions* additions)
      : run_(run), outputs_(outputs), additions_(additions) {}

  // --- With the version's lock.
  // The pool hands the run out, with one reference.
  void Leave(RunPool* pool);
  bool idle() const { return holds_.load(std::memory_order_relaxed) == 0; }
  void Assign(std::shared_ptr<RunOwner> owner, InstanceRunner* runner, uint32_t holds);
  void Disband();
  // The run is in the statistics.
  void Account() { owner_.reset(); }
  InstanceRunner* runner() const { return runner_; }

  // --- Execute.
  // A thread takes the run to Execute, so that Disband is no longer allowed. With the version's
  // lock.
  void SetUnderWay() { execution_.store(Execution::kUnderWay, std::memory_order_relaxed); }
  // Execute has returned. False: the run was abandoned meanwhile.
  bool Returned() {
    return execution_.exchange(Execution::kNone, std::memory_order_acq_rel) !=
           Execution::kAbandoned;
  }
  // The run is given up, and its holds stay. True: Execute is under way.
  bool Abandon();

  // --- Holds.
  // Marks the instance as free. False: an earlier call did so.
  bool FreeInstance() { return !freed_.exchange(true, std::memory_order_acq_rel); }
  // Frees the instance and tells the version, once a run.
  void InstanceFree();
  // Drops holds. True: they were the last ones, and the caller tells the version.
  bool LetGo(uint32_t holds);
  // The same; the version is told here.
  void Drop(uint32_t holds);
  // Queues a request again, and drops its hold.
  void Requeue(Request* request);

  // --- References.
  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release();
  // The same, with the version's lock.
  void ReleaseLocked();

 private:
  enum class Execution : uint8_t { kNone, kUnderWay, kAbandoned };

  PooledRun* const run_;
  RunOutputs* const outputs_;
  BatchAdditions* const additions_;
  // Set by Assign and fixed until the run is idle again.
  InstanceRunner* runner_ = nullptr;
  std::shared_ptr<RunOwner> owner_;  // the version, as long as there are holds
  RunPool* home_ = nullptr;          // its pool, as long as it is not idle

  std::atomic<uint32_t> references_{0};  // RunRefs, and the version's until Account
  std::atomic<uint32_t> holds_{0};
  std::atomic<bool> freed_{false};
  std::atomic<Execution> execution_{Execution::kNone};
};

}  // namespace tritonts

// A loaded version of a model: an executor with a scheduler, instances and statistics.
//
//            Start               Close                  nothing in flight        Destroy
//   made ---------------> serving -----> closing ------------------> drained ---------> destroyed
//     |                                     |  Abort: what waits ends, and       ^
//     | Close                               |  what runs is asked to             |
//     +----------> closing                  +------------------------------------+
//                                           |  Abandon: runs that do not come back
//                                           +------------------> abandoned
//
// Requests are accepted while it is serving; every accepted one ends with a final response to its
// sink. Destroy and Abandon belong to the server's reaper.
//
// Locking: `mutex_` is taken once for a submission, once for each run that ends (which also picks
// the next batch), once by a thread that wakes, and once for a cancellation or a timer; an
// asynchronous instance's run takes it when it is free, and when the run is done. Nothing is called
// under it but the scheduler and the timer's own lock: no backend, sink, or start of a thread.
//
// Memory: what a request needs here is asked for as it comes in, and as its run is made; where
// there is none, it ends as UNAVAILABLE. What is said of it then was made when the version was
// loaded. But for the constructor and `statistics`, nothing here throws.
//
// Any thread, but for what is said to be somebody's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/timer.h"
#include "engine/request/executor.h"
#include "engine/running/dispatcher.h"
#include "engine/running/instance.h"
#include "engine/running/statistics.h"
#include "engine/scheduling/dynamic_scheduler.h"

namespace tritonts {

// What Start needs: the complete configuration, checked in TypeScript (src/scheduling/).
struct VersionConfig {
  ModelIo io;
  DynamicPolicy policy;
  std::vector<InstanceSpec> instances;
  // Batches that are known to end within it run on the JS thread that submits them; 0: none does.
  uint64_t inline_budget_ns = 0;
  // Makes another scheduler than the policy's; empty: that one.
  std::function<std::unique_ptr<Scheduler>()> scheduler = {};
};

// Always owned by shared pointers: a run keeps its version until it is done.
class ModelVersion final : public Executor,
                           public TimerClient,
                           public RunOwner,
                           public std::enable_shared_from_this<ModelVersion> {
 public:
  // `on_drained` is called, with no lock held, when a closed version has nothing left in flight.
  // Throws std::bad_alloc.
  ModelVersion(uint32_t uid, std::string name, int64_t version, Backend* backend,
               std::unique_ptr<Model> model, Timer* timer, std::function<void()> on_drained);
  ~ModelVersion() override;

  uint32_t uid() const { return uid_; }
  const std::string& name() const override { return name_; }
  int64_t version() const { return version_; }
  // What the runtime tells of itself; empty when it is gone, or fails to.
  std::map<std::string, std::string> Info() const;
  const ModelIo& io() const override { return io_; }
  // Bytes of outputs a request of `rows` rows will have, as far as dims are fixed; what is beyond
  // all memory is kMostBytes.
  uint64_t KnownOutputBytes(uint64_t rows) const override;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 46;

  // Creates the instances and begins to serve. A loader thread, or a JS thread where it
  // starts_at_once, once. CANCELLED after Close.
  // `spin_cores`: cores that their threads may spin on (spin.h); 0: none.
  Status Start(VersionConfig config, uint32_t spin_cores = 0);
  // Whether Start takes next to no time.
  bool starts_at_once() const { return starts_at_once_; }
  // Whether Start is under way: then the version must not be ended beyond Close.
  bool starting() const { return starting_.load(std::memory_order_acquire); }
  // Whether Start went well: only then may requests be prepared for it.
  bool started() const { return started_.load(std::memory_order_acquire); }

  // --- Requests.
  void SetShapeKey(RequestHeader* header) const override;
  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTick* tick = nullptr) override;
  void Cancel(std::span<Request* const> requests) override;
  // Counts every request whose final response was delivered, also of runs that are under way.
  Statistics statistics() const;
  void OnTimer(uint64_t now_ns) override;

  // --- Ending. The server's reaper thread.
  // Refuses requests from now on.
  void Close();
  bool drained() const;
  // Ends all waiting requests with `status`, and asks runs under way to end.
  void Abort(const Status& status);
  // Asks runs under way to end, and starts no more. Any thread.
  void Terminate();
  // Joins the threads and frees instances and model. Drained only.
  void Destroy();
  // Abandons runs that never came back: their requests end with INTERNAL. The version, with its
  // threads, instances and model, must never be freed after this.
  void Abandon();

  // --- Runs tell of themselves.
  void OnInstanceFree(InstanceRunner* runner, PooledRun* done) override;
  void OnDone(PooledRun* run) override;
  void OnReschedule(Request* request) override;

 private:
  Status CreateInstances(VersionConfig config);
  void NoteSizes();

  // --- Running (model_version_run.cc).
  void RunInstance(InstanceRunner* runner);
  enum class Ran { kIdle, kHasNext, kAbandoned };
  // Runs a batch on a blocking instance, and picks the next one, which becomes `*run` where it is
  // for this thread. `lock` is the version's, not taken; the runner's thread that has nothing more
  // to run may get it taken. With a tick, on the submitting thread: a next batch that does not fit
  // goes to the runner's own. But for kHasNext, the runner must not be touched afterwards except by
  // its thread.
  Ran RunBatch(InstanceRunner* runner, PooledRun** run, InlineTick* tick,
               std::unique_lock<std::mutex>* lock);
  // Calls Execute of an asynchronous instance, as long as there are batches for it.
  void HandOver(InstanceRunner* runner);
  void StartThread(InstanceRunner* runner);
  void Execute(InstanceRunner* runner, PooledRun* run, uint64_t now_ns);

  // Gives batches to free instances, `awake` first. Under the lock.
  void Dispatch(uint64_t now_ns, InstanceRunner* awake, Orders* orders);
  // Accounts for a run that is done. Under the lock.
  void AccountLocked(PooledRun* run);
  // Notes whether a closed version has nothing left to do. Under the lock, after all else.
  void NoteDrained(Orders* orders) const;
  bool DrainedLocked() const { return in_flight_ == 0 && (!dispatcher_ || dispatcher_->idle()); }
  // Does what was decided under the lock. No lock held.
  void Carry(Orders* orders);

  // Responds finally to requests that no run has. `unserved`: as for Response. No lock held.
  void Respond(std::span<Request* const> requests, const Status& status,
               bool unserved = false) const;
  // Counts requests that were accepted and end without a run, and responds to them. No lock held.
  void Fail(RequestChain* requests, const Status& status);
  // A call of the model or its instances begins, of which Destroy waits for the end. Under the
  // lock.
  void BeginCall() const { calls_++; }
  void EndCall() const;

  const uint32_t uid_;
  const std::string name_;
  const int64_t version_;
  Backend* const backend_;
  std::unique_ptr<Model> model_;
  const bool starts_at_once_;
  Timer* const timer_;
  const std::function<void()> on_drained_;
  // What is said of requests that no run ends.
  const Status unloaded_;
  const Status exits_;
  const Status expired_;
  const Status no_thread_;
  const Status did_not_return_;
  ModelIo io_;
  RunContext context_;
  uint64_t known_output_bytes_ = 0;  // of a row
  uint32_t spin_cores_ = 0;
  std::vector<bool> variable_inputs_;
  bool has_optional_ = false;
  bool keyed_ = false;  // requests may differ in shape or in the inputs they have
  std::atomic<bool> starting_{false};
  std::atomic<bool> started_{false};

  mutable std::mutex mutex_;  // guards all below, and what the runners' comments say
  std::vector<std::unique_ptr<InstanceRunner>> runners_;
  std::unique_ptr<Dispatcher> dispatcher_;  // null until it serves
  Statistics statistics_;
  uint64_t in_flight_ = 0;  // accepted requests that have not ended
  Status aborted_;          // not ok: why nothing is queued any more
  bool closed_ = false;
  bool stop_ = false;        // threads leave when they have nothing to do
  bool terminated_ = false;  // nothing new starts
  // Calls of the model or its instances, and starts of threads, that are under way without the
  // lock: Destroy waits for them.
  mutable uint32_t calls_ = 0;
  uint32_t starts_ = 0;
  mutable std::condition_variable calls_changed_;
};

}  // namespace tritonts

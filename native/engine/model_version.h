// A loaded version of a model: its queue, its scheduler, its instances and its statistics.
//
// States: made -> Start -> serving -> Close -> draining -> Destroy. Requests are accepted from
// Start to Close; every accepted one ends with a final response to its sink. Destroy needs the
// version to be drained, and belongs to the server's reaper thread.
//
// Locking: `mutex_` is taken once for a submission, once for each batch that ends (which also picks
// the next one), once by a thread that wakes, and once for a cancellation or a timer. Backends,
// sinks and condition variables are called without it.
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

#include "backend.h"
#include "dynamic_scheduler.h"
#include "instance.h"
#include "run_times.h"
#include "statistics.h"
#include "timer.h"
#include "wake_list.h"

namespace tritonts {

// What Start needs: the complete configuration, checked in TypeScript (src/scheduling/).
struct VersionConfig {
  ModelIo io;
  DynamicPolicy policy;
  std::vector<InstanceSpec> instances;
  // Batches that are known to end within it run on the JS thread that submits them; 0: none does.
  uint64_t inline_budget_ns = 0;
};

// What a submitting thread has spent on running batches itself since its tick began.
struct InlineTick {
  uint64_t spent_ns = 0;
};

class ModelVersion final : public TimerClient {
 public:
  // `on_drained` is called, with no lock held, when a closed version has no request left.
  ModelVersion(uint32_t uid, std::string name, int64_t version, Backend* backend,
               std::unique_ptr<Model> model, Timer* timer, std::function<void()> on_drained);
  ~ModelVersion() override;

  uint32_t uid() const { return uid_; }
  const std::string& name() const { return name_; }
  int64_t version() const { return version_; }
  // What the runtime tells of itself; empty when it is gone. Any thread.
  std::map<std::string, std::string> Info() const;
  const ModelIo& io() const { return io_; }
  // Bytes of outputs a request of `rows` rows will have, as far as dims are fixed.
  uint64_t KnownOutputBytes(uint64_t rows) const { return rows * known_output_bytes_; }

  // Creates the instances and begins to serve. A loader thread, or a JS thread where it
  // starts_at_once, once. CANCELLED after Close.
  // `spin_cores`: cores that their threads may spin on (spin.h); 0: none.
  Status Start(VersionConfig config, uint32_t spin_cores = 0);
  // Whether Start takes next to no time. Any thread.
  bool starts_at_once() const { return starts_at_once_; }
  // Whether Start is under way: then the version must not be ended beyond Close. Any thread.
  bool starting() const { return starting_.load(std::memory_order_acquire); }
  // Whether Start went well: only then may requests be prepared for it. Any thread.
  bool started() const { return started_.load(std::memory_order_acquire); }

  // --- Requests. Any thread.
  // Prepares what the scheduler compares; inputs must be set.
  void SetShapeKey(Request* request) const;
  // Takes prepared requests; each ends with a final response, also when it is refused here. With a
  // tick, a JS thread's, short batches are run before this returns, within the budget.
  void Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTick* tick = nullptr);
  // Ends a waiting request at once as CANCELLED; marks a running one, whose rows are then dropped.
  void Cancel(Request* request);
  // Counts every request whose answer was delivered, also of batches that run on. Not from a
  // sink's Deliver of a run: waits until that returns.
  Statistics statistics() const;
  void OnTimer(uint64_t now_ns) override;

  // --- Ending. The server's reaper thread.
  // Refuses requests from now on.
  void Close();
  bool drained() const;
  // Ends all waiting requests with `status`, and asks running batches to end.
  void Abort(const Status& status);
  // Asks running batches to end, and starts no more. Any thread.
  void Terminate();
  // Joins the threads and frees instances and model. Drained only.
  void Destroy();
  // Gives up runs that never came back: their requests are answered with INTERNAL. The version,
  // with its threads, instances and model, must never be freed after this.
  void Leak();

 private:
  // What must be done once the lock is gone.
  struct After {
    WakeList wake;
    std::vector<Request*> expired;
    std::vector<Schedulable*> stranded;  // no instance has a thread
    bool drained = false;
    bool any() const { return drained || !wake.empty() || !expired.empty() || !stranded.empty(); }
  };

  Status CreateInstances(VersionConfig config);
  void RunInstance(InstanceRunner* runner);
  enum class Ran { kIdle, kHasNext, kGivenUp };
  // Runs the batch that a runner has, which is marked as running, and picks the next one. `lock` is
  // the version's, not taken; the runner's thread that has nothing more to run may get it taken.
  // With a tick, on the submitting thread: a next batch that does not fit goes to the runner's own.
  // Unless there is a next one, the runner must not be touched afterwards but by its thread.
  Ran Run(InstanceRunner* runner, InlineTick* tick, std::unique_lock<std::mutex>* lock);
  // Takes a batch back from a thread that is to be woken, if it is to run here. Under the lock.
  InstanceRunner* ChooseInline(const InlineTick& tick, After* after);
  bool MayRunInline(const InstanceRunner& runner, const InlineTick& tick) const;
  // Gives batches to free instances, `preferred` first. Under the lock.
  void Dispatch(uint64_t now_ns, InstanceRunner* preferred, After* after);
  // False: the system has no thread for it.
  bool StartThread(InstanceRunner* runner);
  bool Offer(InstanceRunner* runner, uint64_t now_ns, InstanceRunner* self, After* after);
  // Answers requests that were never accepted; not counted, as in Triton. No lock held.
  void Refuse(std::span<Request* const> requests, const Status& status);
  // Counts and answers accepted requests that end without having run. No lock held.
  void Fail(std::span<Request* const> requests, const Status& status);
  void Finish(const After& after);
  void EndedLocked(size_t count, After* after);

  const uint32_t uid_;
  const std::string name_;
  const int64_t version_;
  Backend* const backend_;
  std::unique_ptr<Model> model_;
  const bool starts_at_once_;
  Timer* const timer_;
  const std::function<void()> on_drained_;
  ModelIo io_;
  uint64_t known_output_bytes_ = 0;
  uint32_t spin_cores_ = 0;
  std::vector<bool> variable_inputs_;
  bool has_optional_ = false;
  bool keyed_ = false;  // requests may differ in shape or in the inputs they have
  bool has_strings_ = false;
  std::atomic<bool> starting_{false};
  std::atomic<bool> started_{false};

  mutable std::mutex mutex_;  // guards all below, and the runners' batch and busy
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<InstanceRunner>> runners_;
  Decision decision_;
  RunTimes run_times_;
  Statistics statistics_;
  uint64_t in_flight_ = 0;
  uint64_t batches_ = 0;
  bool closed_ = false;
  bool stop_ = false;        // threads leave when they have nothing to do
  bool terminated_ = false;  // nothing new starts
};

}  // namespace tritonts

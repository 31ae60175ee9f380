// Decides which instance gets which batch. It asks the scheduler for a batch for each free
// instance, makes a run of each batch, and keeps the list of runs under way.
//
// Guarded by its version's lock. Under the lock it calls only the scheduler and the gate. Further
// work for a batch (threads to wake or to start, batches to hand over, requests to fail) is noted
// in Orders. The version does it after it has released the lock.
//
// An instance whose device is lost gets no batch while another instance is usable.
//
// Nothing here throws. If a run cannot be allocated, its requests are noted as failed, and the
// scheduler is asked for the next batch, so that no request is stranded in the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/batch/batch_input_maker.h"
#include "engine/batch/instance.h"
#include "engine/batch/run.h"
#include "engine/batch/run_pool.h"
#include "engine/request/request_chain.h"
#include "engine/scheduling/scheduler.h"
#include "engine/statistics/batch_log.h"
#include "engine/statistics/statistics.h"
#include "engine/version/inline_policy.h"
#include "engine/version/wake_list.h"

namespace tritonts {

struct Orders {
  WakeList wake;         // instances with a batch, whose threads are to be woken
  RunnerList start;      // instances with a batch, whose threads are to be started
  RunnerList hand_over;  // asynchronous instances, whose Execute is to be called
  RequestChain expired;
  RequestChain cancelled;   // requests of a sequence of which another request was cancelled
  RequestChain broken;      // requests of a sequence whose state could not be kept
  RequestChain stranded;    // requests that fail because no instance can get a thread
  RequestChain starved;     // requests that fail because there is no memory for the run
  uint64_t wake_at_ns = 0;  // when to ask the scheduler again; 0: only after a change
  // A gate that instances have left, so that others may be let in. Owned, because the version may
  // be gone when its orders are carried out.
  std::shared_ptr<Gate> left;
  bool drained = false;     // the version is closed and drained
  bool may_remove = false;  // an instance that was leaving has nothing left to do

  bool any() const {
    return drained || may_remove || !wake.empty() || !start.empty() || !hand_over.empty() ||
           !expired.empty() || !cancelled.empty() || !broken.empty() || !stranded.empty() ||
           !starved.empty() || left;
  }
};

class Dispatcher {
 public:
  // `runners` and `context` outlive the dispatcher. Batches of an instance with a gate pass it
  // before they start.
  Dispatcher(std::unique_ptr<Scheduler> scheduler, std::vector<InstanceRunner*> runners,
             const RunContext* context, InlinePolicy inline_policy);

  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }
  InlinePolicy& inline_policy() { return inline_policy_; }

  // Reserves memory for `more` requests. False: there is none.
  bool MakeRoom(size_t more);
  // Queues or refuses a request. MakeRoom was called for it.
  Status Enqueue(Request* request, uint64_t now_ns);
  // As Scheduler::EnqueueSome. MakeRoom was called for the requests.
  size_t EnqueueSome(std::span<Request* const> requests, uint64_t now_ns, Status* refused);
  // Gives batches to free instances. `awake` comes first: its thread is the calling thread and
  // needs no waking; null: none is. Runs share ownership of `owner` while they are under way.
  void Ask(uint64_t now_ns, InstanceRunner* awake, RunOwner* owner, Orders* orders);
  // Gives a free instance a batch of the warm-up. The scheduler did not form it and is not told of
  // it. False: there is no memory for the run.
  bool GiveDirectly(std::span<Request* const> requests, InstanceRunner* runner, uint64_t now_ns,
                    RunOwner* owner, Orders* orders);
  // While `warming` is set, all batches come from GiveDirectly.
  void SetWarming(bool warming) {
    warming_ = warming;
    inline_policy_.SetWarming(warming);
  }
  // Takes the next batch of an instance. The caller executes it. Null: there is none.
  PooledRun* TakeBatch(InstanceRunner* runner);
  // Gives batches to a further instance. It has a number of its own. Throws std::bad_alloc; then
  // nothing has changed.
  void Add(InstanceRunner* runner);
  // An instance gets only batches that are bound to it from now on.
  void BeginRemoval(InstanceRunner* runner);
  // Whether an instance that is leaving has nothing left to do.
  bool MayRemove(const InstanceRunner* runner) const;
  // Forgets an instance that may be removed.
  void Remove(InstanceRunner* runner);
  // Marks an instance as free.
  void Free(InstanceRunner* runner, uint64_t now_ns, Orders* orders);
  // Starts the held batch of an instance that the gate has let in, unless it was withdrawn.
  void StartHeld(InstanceRunner* runner, Orders* orders);
  // Takes back the batches that wait at the gate, and appends their requests to `requests`.
  void WithdrawHeld(uint64_t now_ns, RequestChain* requests, Orders* orders);
  // Moves the open requests of a failed run into two new runs, which its instance runs next
  // (halves.cc). Without memory the requests stay in their run.
  void Halve(PooledRun* run, const std::shared_ptr<RunOwner>& owner);
  // Gives an instance that has finished a batch its next half. False: it has none.
  bool TakeHalf(InstanceRunner* runner, uint64_t now_ns);
  // Adds a finished run to the statistics and releases it. Returns how many requests ended.
  size_t Account(PooledRun* run, Statistics* statistics, Latencies* latencies = nullptr);
  // Adds the responses that runs under way have given so far. With `totals`: only of the runs that
  // are counted there; null stands for the version's own statistics.
  void AddAnswered(Statistics* statistics) const;
  void AddAnswered(const GpuTotals* totals, Statistics* statistics, const Latencies& latencies,
                   LatencyCounts* counts) const;
  // Appends the records of the last batches and of those under way, up to the vector's capacity.
  void CopyBatches(std::vector<BatchRecord>* records) const;
  // Whether no instance is occupied and no run is under way.
  bool idle() const;
  // The first of the runs under way, which are linked by PooledRun::next.
  PooledRun* under_way() const { return under_way_; }

  // Notes whether a thread was started for an instance in Orders::start. If it was not, the batch
  // goes back to the scheduler. The instance gets no batch until RetryThreads.
  void ThreadStarted(InstanceRunner* runner, bool started, uint64_t now_ns, Orders* orders);
  void RetryThreads();

 private:
  // Asks the scheduler for a batch for an instance. True: the scheduler formed one, even if there
  // was no memory for its run.
  bool Offer(InstanceRunner* runner, uint64_t now_ns, InstanceRunner* awake, RunOwner* owner,
             Orders* orders);
  // Whether an instance is usable: its device is not lost, and its thread was not refused.
  bool AnyLeft() const;
  // Makes a run of these requests; null without memory. `batch`: the batch whose members they are,
  // if the scheduler adds inputs or null rows to it; else null.
  PooledRun* MakeRun(std::span<Request* const> requests, InstanceRunner* runner, RunOwner* owner,
                     Batch* batch = nullptr);
  // Gives a run to its instance. The run starts, or is held until the gate lets it in.
  void Give(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake, Orders* orders);
  void Begin(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake, Orders* orders);
  void Leave(InstanceRunner* runner, Orders* orders);
  // Adds a run to those under way.
  void Enlist(PooledRun* run);
  // Moves the requests from a list to a chain, without null rows.
  static void Take(std::vector<Request*>* from, RequestChain* to);
  static void NoteTime(uint64_t at, Orders* orders);
  void Forget(PooledRun* run);
  // Tells the scheduler that the run's sequences have no request that runs.
  void EndSequences(PooledRun* run, uint64_t now_ns);

  const std::unique_ptr<Scheduler> scheduler_;
  const bool timed_ = scheduler_->timed();
  std::vector<InstanceRunner*> runners_;
  const RunContext* const context_;
  // Null: the model has no batch inputs.
  const std::unique_ptr<BatchInputMaker> batch_inputs_;
  InlinePolicy inline_policy_;
  const RunPool::Owner pool_ = RunPool::Make();
  PooledRun* under_way_ = nullptr;  // a list through the runs
  Batch batch_;
  Expired expired_;
  BatchLog log_;
  uint64_t batches_ = 0;
  bool threads_refused_ = false;  // for at least one instance
  bool warming_ = false;
};

}  // namespace tritonts

// Which instance gets which batch: it asks the scheduler for every instance that is free, makes
// runs of what that decides, and knows the runs that are under way.
//
// Guarded by its version's lock. It calls nobody but the scheduler: what is to be done about a
// batch (threads to wake or to start, batches to hand over, requests to fail) is written down in
// Orders, and done without the lock.
//
// An instance whose device is lost gets no batch while there are others.
//
// Nothing here throws. Where there is no memory for a run, its requests are written down, too, and
// the scheduler is asked for the next ones: it never holds requests that nobody will come for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
  WakeList wake;         // their batches are for their threads
  RunnerList start;      // they have a batch, and no thread yet
  RunnerList hand_over;  // asynchronous ones: Execute is to be called
  RequestChain expired;
  RequestChain stranded;    // the system has no thread for any instance
  RequestChain starved;     // or no memory for the run
  uint64_t wake_at_ns = 0;  // ask again then; 0: only when something changes
  GateTickets let_in;       // others, whose versions are to be told
  bool drained = false;     // a version that is closed has nothing left to do

  bool any() const {
    return drained || !wake.empty() || !start.empty() || !hand_over.empty() || !expired.empty() ||
           !stranded.empty() || !starved.empty() || !let_in.empty();
  }
};

class Dispatcher {
 public:
  // `runners` and `context` outlive it. `gate`: what batches pass; null: nothing.
  Dispatcher(std::unique_ptr<Scheduler> scheduler, std::vector<InstanceRunner*> runners,
             const RunContext* context, InlinePolicy inline_policy,
             std::shared_ptr<Gate> gate = nullptr);

  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }
  InlinePolicy& inline_policy() { return inline_policy_; }

  // Makes room for `more` requests. False: there is no memory for them.
  bool MakeRoom(size_t more);
  // Queues a request that there is room for, or refuses it.
  Status Enqueue(Request* request, uint64_t now_ns);
  // As Scheduler::EnqueueSome, for requests that there is room for.
  size_t EnqueueSome(std::span<Request* const> requests, uint64_t now_ns, Status* refused);
  // Gives batches to free instances, `awake` first, whose thread is here and needs no waking. Runs
  // keep `owner` while they are under way.
  void Ask(uint64_t now_ns, InstanceRunner* awake, RunOwner* owner, Orders* orders);
  // Gives a free instance a batch that does not come from the scheduler, which is not told of it:
  // the version's warm-up. False: there is no memory for the run.
  bool GiveDirectly(std::span<Request* const> requests, InstanceRunner* runner, uint64_t now_ns,
                    RunOwner* owner, Orders* orders);
  // Whether all batches come that way.
  void SetWarming(bool warming) {
    warming_ = warming;
    inline_policy_.SetWarming(warming);
  }
  // The batch of an instance, for who is on the way to Execute with it; null: it has none.
  PooledRun* TakeBatch(InstanceRunner* runner);
  // An instance is free.
  void Free(InstanceRunner* runner, uint64_t now_ns, Orders* orders);
  // The gate has let an instance in: its batch starts, if it is still there.
  void StartHeld(InstanceRunner* runner, Orders* orders);
  // Takes the batches that wait at the gate back, which will not start any more.
  void WithdrawHeld(uint64_t now_ns, RequestChain* requests, Orders* orders);
  // All instances leave the gate, whatever they do.
  void LeaveGate(GateTickets* let_in);
  // Moves the requests of a run that failed into two runs, which its instance runs next
  // (halves.cc). Without memory they stay where they are.
  void Halve(PooledRun* run, const std::shared_ptr<RunOwner>& owner);
  // Whether an instance that is through with a batch has such a run, which it gets now.
  bool TakeHalf(InstanceRunner* runner, uint64_t now_ns);
  // A run is done: adds it up, and lets go of it. Returns how many requests ended.
  size_t Account(PooledRun* run, Statistics* statistics, Latencies* latencies = nullptr);
  // Adds what runs under way have answered so far: all, or those that are added up in `totals`.
  void AddAnswered(Statistics* statistics) const;
  void AddAnswered(const GpuTotals* totals, Statistics* statistics, const Latencies& latencies,
                   LatencyCounts* counts) const;
  // Appends how the last batches came about, and those under way, as far as there is room.
  void CopyBatches(std::vector<BatchRecord>* records) const;
  // Whether no instance is occupied, and no run under way.
  bool idle() const;
  // The first of the runs under way, which are linked by PooledRun::next.
  PooledRun* under_way() const { return under_way_; }

  // Whether a thread was started for an instance that Orders named. Where not, its batch goes back
  // to the scheduler, and the instance gets none until threads may be had again.
  void ThreadStarted(InstanceRunner* runner, bool started, uint64_t now_ns, Orders* orders);
  void RetryThreads();

 private:
  // Whether the scheduler gave it something, if only requests that there is no memory for.
  bool Offer(InstanceRunner* runner, uint64_t now_ns, InstanceRunner* awake, RunOwner* owner,
             Orders* orders);
  // Whether there is an instance whose device is not lost.
  bool AnyLeft() const;
  // A run of these requests; null without memory. `batch`: what they are the members of, where the
  // engine adds something to it.
  PooledRun* MakeRun(std::span<Request* const> requests, InstanceRunner* runner, RunOwner* owner,
                     Batch* batch = nullptr);
  // Gives a run to its instance, where it starts, or waits at the gate.
  void Give(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake, Orders* orders);
  void Begin(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake, Orders* orders);
  void Leave(InstanceRunner* runner, GateTickets* let_in);
  // Adds a run to those under way.
  void Enlist(PooledRun* run);
  // All that have a caller.
  static void Take(std::vector<Request*>* from, RequestChain* to);
  static void NoteTime(uint64_t at, Orders* orders);
  void Forget(PooledRun* run);

  const std::unique_ptr<Scheduler> scheduler_;
  const std::vector<InstanceRunner*> runners_;
  const RunContext* const context_;
  InlinePolicy inline_policy_;
  const std::shared_ptr<Gate> gate_;  // null: there is none
  const RunPool::Owner pool_ = RunPool::Make();
  PooledRun* under_way_ = nullptr;  // a list through the runs
  Batch batch_;
  Expired expired_;
  BatchLog log_;
  uint64_t batches_ = 0;
  bool threads_refused_ = false;  // of some instance
  bool warming_ = false;
};

}  // namespace tritonts

// How a version's batches run: on instances' threads, on the thread that submitted them, or handed
// over to asynchronous instances.
#include <new>
#include <optional>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/guard.h"
#include "engine/version/model_version.h"
#include "engine/version/occupied.h"
#include "platform/sleeps.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

void BindInstanceThread(const InstanceRunner& runner) {
  // The thread that starts it may be bound to the policy of another instance.
  platform::UnbindThread();
  try {
    // A thread was bound in the same way to make the instance. If the cores were taken from the
    // process since, its batches run all the same.
    (void)platform::BindThread(runner.host_policy);
  } catch (const std::bad_alloc&) {
    // There is no memory for the text that says so.
  }
}

}  // namespace

void ModelVersion::Execute(InstanceRunner* runner, PooledRun* run, uint64_t now_ns) {
  // Handing over a batch does not count as a run that takes a core: the receiving thread may spin
  // for the batch and must keep its core.
  RuntimeCall call(!runner->asynchronous);
  run->Begin(now_ns);
  const auto execute = [&] {
    if (!call.allowed()) return exits_;
    // Only foreign code submits.
    std::optional<Occupied> occupied;
    if (runner->leaves_open) occupied.emplace();
    runner->instance->Execute(*run);
    return Status::Ok();
  };
  const Status status = Guarded(name_, "to run", execute, context_.no_memory);
  if (status.ok()) return;
  run->RespondAll(status);
  if (runner->asynchronous) run->InstanceFree();
}

ModelVersion::Ran ModelVersion::RunBatch(InstanceRunner* runner, PooledRun** run,
                                         InlineTime* inline_time,
                                         std::unique_lock<std::mutex>* lock) {
  PooledRun* const current = std::exchange(*run, nullptr);
  const uint64_t began = NowNs();
  if (inline_time) inline_time->watch.Begin(began);
  const uint64_t sleeps = runner->leaves_open ? platform::Sleeps() : 0;
  Execute(runner, current, began);
  bool free = false;
  if (current->failed()) {
    // Not if InstanceFree was called already: the instance may have its next batch.
    free = current->FreeInstance();
    if (free) Halve(current);
  }
  if (!current->Returned()) {
    CountAbandonedCalls(-1);
    return Ran::kAbandoned;
  }
  const uint64_t now = NowNs();
  // The time to deliver the responses is left out: it costs the JS thread less here than if the
  // responses came from another thread. An instance that may leave requests open may go on after
  // its responses, so all of its time counts.
  const uint64_t ran_ns = runner->leaves_open ? now - began : current->ran_ns();
  const bool slept = runner->leaves_open && platform::Sleeps() != sleeps;
  const bool failed = !current->answered();
  const uint64_t batch_class = current->batch_class;
  free = free || current->FreeInstance();
  const bool done = current->EndExecute(free);
  Orders orders;
  Ran ran = Ran::kIdle;
  lock->lock();
  if (stop_) {  // the version was abandoned meanwhile and must not be touched
    lock->unlock();
    return Ran::kAbandoned;
  }
  dispatcher_->inline_policy().Note(batch_class, ran_ns, failed, inline_time);
  if (runner->leaves_open) dispatcher_->inline_policy().NoteConduct(slept || !done);
  free = std::exchange(runner->free_when_done, false) || free;
  if (done) AccountLocked(current);
  if (free && !dispatcher_->TakeHalf(runner, now)) dispatcher_->Free(runner, now, &orders);
  Dispatch(now, free ? runner : nullptr, &orders);
  if (!inline_time || (free && runner->next)) {
    // A submitting thread goes on only with a batch that may run inline. Other batches go to the
    // runner's thread.
    if (inline_time && !dispatcher_->inline_policy().MayRun(*runner, *runner->next, *inline_time)) {
      orders.wake.Add(runner);
    } else if ((*run = dispatcher_->TakeBatch(runner))) {
      (*run)->record.ran_inline |= inline_time && !inline_time->of_instance;
      ran = Ran::kHasNext;
    }
  }
  if (!inline_time) runner->executing = ran == Ran::kHasNext;
  NoteDrained(&orders);
  // The runner's thread keeps the lock and waits with it.
  if (!inline_time && ran == Ran::kIdle && !orders.any()) return ran;
  lock->unlock();
  if (orders.any()) Carry(&orders);
  return ran;
}

void ModelVersion::RunInstance(InstanceRunner* runner) {
  platform::NameThread("tritonts-model");
  platform::UseLongSlices();
  BindInstanceThread(*runner);
  Occupied::Stay();
  InlineTime guests;
  // A bound thread takes no batches of other models: its cores are for this one.
  std::optional<InstanceTimeScope> scope;
  if (!platform::IsThreadBound()) scope.emplace(&guests);
  std::unique_lock lock(mutex_);
  while (true) {
    const uint64_t began = NowNs();
    const Spin spin = Await(runner->bell.get(), &runner->spin, spin_cores_, began, &lock,
                            [&] { return runner->next || stop_ || runner->gone; });
    if (stop_ || runner->gone) return;
    runner->spin.Note(spin, runner->assigned_ns > began ? runner->assigned_ns - began : 0);
    PooledRun* run = dispatcher_->TakeBatch(runner);
    runner->executing = true;
    lock.unlock();
    Ran ran = Ran::kHasNext;
    while (ran == Ran::kHasNext) {
      guests.spent_ns = 0;
      ran = RunBatch(runner, &run, nullptr, &lock);
    }
    if (ran == Ran::kAbandoned) return;
    if (!lock.owns_lock()) lock.lock();
  }
}

void ModelVersion::StartThread(InstanceRunner* runner) {
  // Two pointers fit into a std::function without an allocation, which could fail here.
  const bool started = runner->thread.Start([this, runner] { RunInstance(runner); });
  Orders orders;
  {
    std::unique_lock lock(mutex_);
    const uint64_t now = NowNs();
    dispatcher_->ThreadStarted(runner, started, now, &orders);
    if (!started) Dispatch(now, nullptr, &orders);
    if (!started && context_.order) {
      // The batch lost its places in the order, and responses of others may have waited for them.
      lock.unlock();
      context_.order->Go();
      lock.lock();
    }
    NoteLeft(&orders);
    // This is last, because the version may be destroyed afterwards.
    if (--starts_ == 0) calls_changed_.notify_all();
  }
  if (orders.any()) Carry(&orders);
}

// The batch that an instance was given while its Execute was called. Null: there is none, and the
// next one needs another call of HandOver.
PooledRun* ModelVersion::TakeAnother(InstanceRunner* runner) {
  using Handing = InstanceRunner::Handing;
  Handing one = Handing::kOne;
  if (runner->handing.compare_exchange_strong(one, Handing::kNobody)) return nullptr;
  PooledRun* const another = std::exchange(runner->next, nullptr);
  runner->handing.store(Handing::kOne);
  return another;
}

void ModelVersion::HandOver(InstanceRunner* runner) {
  // The end of a run may give this version's instances their next batches. They are handed over by
  // the outermost call on the thread, so that the stack stays small.
  struct Ending {
    const ModelVersion* version = nullptr;
    RunnerList runners;
  };
  thread_local Ending* ending = nullptr;
  if (ending && ending->version == this) return ending->runners.Append(runner);
  Ending mine{this, {}};
  mine.runners.Append(runner);
  while (!mine.runners.empty()) {
    runner = mine.runners.Pop();
    PooledRun* run = std::exchange(runner->next, nullptr);
    while (run) {
      Execute(runner, run, NowNs());
      // This comes before EndExecute, because only the run keeps the runner alive.
      PooledRun* const another = TakeAnother(runner);
      if (!run->Returned()) {
        CountAbandonedCalls(-1);
      } else if (run->EndExecute(false)) {
        Ending* const outer = std::exchange(ending, &mine);
        OnDone(run);
        ending = outer;
      }
      run = another;
    }
  }
}

void ModelVersion::OnInstanceFree(InstanceRunner* runner, PooledRun* done) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    const uint64_t now = NowNs();
    if (done) AccountLocked(done);
    // It has its resources until its batch has ended. But the batch of a decoupled model may last
    // long, and one that waits for its turn to respond may wait for a batch that lacks resources.
    if (!done && runner->gate && !context_.decoupled && !context_.order) {
      runner->free_when_done = true;
      return;
    }
    FreeLocked(runner, now, &orders);
    NoteDrained(&orders);
  }
  Carry(&orders);
}

void ModelVersion::FreeLocked(InstanceRunner* runner, uint64_t now_ns, Orders* orders) {
  if (dispatcher_->TakeHalf(runner, now_ns)) {
    orders->wake.Add(runner);
  } else {
    dispatcher_->Free(runner, now_ns, orders);
  }
  Dispatch(now_ns, nullptr, orders);
}

void ModelVersion::OnGateOpen(uint32_t instance) noexcept {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    const size_t starts = orders.start.size();
    if (!runners_[instance]) return;
    dispatcher_->StartHeld(runners_[instance].get(), &orders);
    starts_ += static_cast<uint32_t>(orders.start.size() - starts);
  }
  Carry(&orders);
}

void ModelVersion::OnDone(PooledRun* run) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    InstanceRunner* const runner = run->runner();
    const bool of_sequences = run->sequences != nullptr;
    AccountLocked(run);
    if (std::exchange(runner->free_when_done, false)) {
      FreeLocked(runner, NowNs(), &orders);
    } else if (of_sequences) {
      // The next requests of its sequences have waited for its end.
      Dispatch(NowNs(), nullptr, &orders);
    }
    NoteDrained(&orders);
  }
  Carry(&orders);
}

}  // namespace tritonts

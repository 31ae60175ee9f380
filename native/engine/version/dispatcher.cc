#include "engine/version/dispatcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"

namespace tritonts {

using ThreadState = InstanceRunner::ThreadState;
using Handing = InstanceRunner::Handing;

Dispatcher::Dispatcher(std::unique_ptr<Scheduler> scheduler, std::vector<InstanceRunner*> runners,
                       const RunContext* context, InlinePolicy inline_policy)
    : scheduler_(std::move(scheduler)),
      runners_(std::move(runners)),
      context_(context),
      batch_inputs_(context->io ? BatchInputMaker::Make(*context->io) : nullptr),
      inline_policy_(std::move(inline_policy)) {}

void Dispatcher::Take(std::vector<Request*>* from, RequestChain* to) {
  for (Request* one : *from) {
    if (one && !one->header->null_row) to->Append(one);
  }
  from->clear();
}

bool Dispatcher::MakeRoom(size_t more) {
  const size_t wanted = scheduler_->waiting() + scheduler_->slots() + more;
  const auto reserve = [wanted](std::vector<Request*>* list) {
    if (list->capacity() < wanted) list->reserve(std::max(wanted, 2 * list->capacity()));
  };
  try {
    reserve(&batch_.members);
    reserve(&expired_.requests);
    if (timed_) {
      reserve(&expired_.cancelled);
      reserve(&expired_.broken);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

size_t Dispatcher::EnqueueSome(std::span<Request* const> requests, uint64_t now_ns,
                               Status* refused) {
  const size_t taken = scheduler_->EnqueueSome(requests, now_ns, refused);
  if (taken < requests.size() && refused->SameAs(Status::NoMemory())) {
    *refused = context_->no_memory;
  }
  return taken;
}

Status Dispatcher::Enqueue(Request* request, uint64_t now_ns) {
  Status refused;
  Request* const one[] = {request};
  return EnqueueSome(one, now_ns, &refused) == 1 ? Status::Ok() : refused;
}

void Dispatcher::NoteTime(uint64_t at, Orders* orders) {
  if (at != 0 && (orders->wake_at_ns == 0 || at < orders->wake_at_ns)) orders->wake_at_ns = at;
}

void Dispatcher::Ask(uint64_t now_ns, InstanceRunner* awake, RunOwner* owner, Orders* orders) {
  if (!timed_ && scheduler_->waiting() == 0) return;
  expired_.Clear();
  scheduler_->Expire(now_ns, &expired_);
  NoteTime(expired_.wake_at_ns, orders);
  Take(&expired_.requests, &orders->expired);
  Take(&expired_.cancelled, &orders->cancelled);
  Take(&expired_.broken, &orders->broken);
  if (awake) Offer(awake, now_ns, awake, owner, orders);
  // A batch taken by one instance may unblock requests for an instance that was already asked.
  for (bool taken = true; taken;) {
    taken = false;
    for (InstanceRunner* runner : runners_) {
      if (scheduler_->waiting() == 0) return;
      taken = Offer(runner, now_ns, awake, owner, orders) || taken;
    }
  }
  if (!threads_refused_) return;
  const auto refused = [this](const auto* runner) {
    return runner->thread_state == ThreadState::kRefused ||
           (runner->leaving && !scheduler_->binds());
  };
  // Requests that are bound to an instance have no other one.
  const bool stranded = scheduler_->binds()
                            ? std::any_of(runners_.begin(), runners_.end(), refused)
                            : std::all_of(runners_.begin(), runners_.end(), refused);
  if (stranded) scheduler_->Drain(&orders->stranded);
}

bool Dispatcher::Offer(InstanceRunner* runner, uint64_t now_ns, InstanceRunner* awake,
                       RunOwner* owner, Orders* orders) {
  if (runner->occupied || runner->thread_state == ThreadState::kRefused) return false;
  if (runner->leaving && !scheduler_->binds()) return false;
  if (runner->lost() && !scheduler_->binds() && AnyLeft()) return false;
  batch_.Clear();
  scheduler_->Next(runner->index, now_ns, &batch_);
  NoteTime(batch_.wake_at_ns, orders);
  if (batch_.members.empty()) return false;
  if (PooledRun* run = MakeRun(batch_.members, runner, owner, batch_.plain() ? nullptr : &batch_)) {
    runner->assigned_ns = now_ns;
    // A null row has the arrival time of the first real request.
    const uint64_t arrival = run->requests()[0]->header->arrival_ns;
    run->record.given_ns = now_ns;
    run->record.waited_ns = now_ns > arrival ? now_ns - arrival : 0;
    run->record.rows = run->total_batch_size();
    run->record.requests = static_cast<uint32_t>(run->requests().size()) - run->null_rows();
    run->record.left = static_cast<uint32_t>(scheduler_->waiting());
    run->record.instance = runner->index;
    run->record.closed_by = batch_.closed_by;
    run->sequences = batch_.sequences;
    Give(run, runner, awake, orders);
  } else {
    Take(&batch_.members, &orders->starved);
    scheduler_->Finished(runner->index, now_ns);
    if (batch_.sequences) {
      scheduler_->Ended(batch_.sequences, now_ns);
      // Sequences may be idle now, and Expire said before when to call it again.
      NoteTime(now_ns + 1, orders);
    }
  }
  return true;
}

bool Dispatcher::AnyLeft() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const InstanceRunner* runner) {
    return !runner->lost() && !runner->leaving && runner->thread_state != ThreadState::kRefused;
  });
}

bool Dispatcher::GiveDirectly(std::span<Request* const> requests, InstanceRunner* runner,
                              uint64_t now_ns, RunOwner* owner, Orders* orders) {
  TRITONTS_ASSERT(warming_ && !runner->occupied, "an instance was given a second batch");
  PooledRun* const run = MakeRun(requests, runner, owner);
  if (!run) return false;
  runner->assigned_ns = now_ns;
  Give(run, runner, nullptr, orders);
  return true;
}

PooledRun* Dispatcher::MakeRun(std::span<Request* const> requests, InstanceRunner* runner,
                               RunOwner* owner, Batch* batch) {
  PooledRun* run = nullptr;
  try {
    run = pool_->Take();
    if (batch_inputs_) {
      if (!batch) batch = batch_inputs_->BatchOf(requests);
      batch_inputs_->AddTo(batch, &runner->pool);
    }
    if (batch) {
      run->Inject(batch, &runner->pool);
      requests = batch->members;
    }
    if (batch_inputs_) batch_inputs_->Drop();
    run->Assign(requests, batches_ + 1, context_, runner, owner->Share());
  } catch (const std::bad_alloc&) {
    if (batch_inputs_) batch_inputs_->Drop();
    if (run) {
      run->ClearInjected();
      run->DropLocked();
    }
    return nullptr;
  }
  batches_++;
  inline_policy_.Classify(run);
  return run;
}

void Dispatcher::Enlist(PooledRun* run) {
  run->next = under_way_;
  if (under_way_) under_way_->previous = run;
  under_way_ = run;
}

void Dispatcher::Give(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake,
                      Orders* orders) {
  Enlist(run);
  runner->occupied = true;
  // Warm-up batches bypass the gate, so that they do not compete with served requests.
  if (runner->gate && !warming_ && !runner->gate->Enter(runner->ticket)) {
    runner->held = run;
    return;
  }
  Begin(run, runner, awake, orders);
}

void Dispatcher::Begin(PooledRun* run, InstanceRunner* runner, InstanceRunner* awake,
                       Orders* orders) {
  runner->next = run;
  if (runner->asynchronous) {
    run->SetUnderWay();
    Handing one = Handing::kOne;
    // If a thread is in Execute, it takes this batch next. Otherwise a thread must call Execute.
    if (!runner->handing.compare_exchange_strong(one, Handing::kAnother)) {
      runner->handing.store(Handing::kOne);
      orders->hand_over.Append(runner);
    }
  } else if (runner->thread_state == ThreadState::kNone) {
    runner->thread_state = ThreadState::kStarting;
    orders->start.Append(runner);
  } else if (runner != awake) {
    orders->wake.Add(runner);
  }
}

PooledRun* Dispatcher::TakeBatch(InstanceRunner* runner) {
  PooledRun* run = std::exchange(runner->next, nullptr);
  if (run) run->SetUnderWay();
  return run;
}

void Dispatcher::StartHeld(InstanceRunner* runner, Orders* orders) {
  // The batch may have been withdrawn meanwhile.
  if (PooledRun* run = std::exchange(runner->held, nullptr)) Begin(run, runner, nullptr, orders);
}

void Dispatcher::WithdrawHeld(uint64_t now_ns, RequestChain* requests, Orders* orders) {
  for (InstanceRunner* runner : runners_) {
    PooledRun* const run = std::exchange(runner->held, nullptr);
    if (!run) continue;
    run->Disband(requests);
    run->record = {};
    Forget(run);
    EndSequences(run, now_ns);
    run->DropLocked();
    Free(runner, now_ns, orders);
  }
}

void Dispatcher::Leave(InstanceRunner* runner, Orders* orders) {
  if (!runner->gate) return;
  runner->gate->Leave(runner->ticket);
  orders->left = runner->gate;
}

void Dispatcher::Add(InstanceRunner* runner) {
  runners_.reserve(runners_.size() + 1);
  scheduler_->AddInstance(runner->index);
  runners_.push_back(runner);
}

void Dispatcher::BeginRemoval(InstanceRunner* runner) {
  runner->leaving = true;
  scheduler_->RemoveInstance(runner->index);
}

bool Dispatcher::MayRemove(const InstanceRunner* runner) const {
  if (!runner->leaving || runner->occupied || runner->executing) return false;
  if (runner->thread_state == ThreadState::kStarting) return false;
  for (const PooledRun* run = under_way_; run; run = run->next) {
    if (run->runner() == runner) return false;
  }
  return !scheduler_->Holds(runner->index);
}

void Dispatcher::Remove(InstanceRunner* runner) {
  TRITONTS_ASSERT(MayRemove(runner), "an instance with work was removed");
  std::erase(runners_, runner);
}

void Dispatcher::Free(InstanceRunner* runner, uint64_t now_ns, Orders* orders) {
  TRITONTS_ASSERT(runner->occupied, "an instance was freed twice");
  runner->occupied = false;
  Leave(runner, orders);
  if (!warming_) scheduler_->Finished(runner->index, now_ns);
}

void Dispatcher::Forget(PooledRun* run) {
  (run->previous ? run->previous->next : under_way_) = run->next;
  if (run->next) run->next->previous = run->previous;
  run->next = run->previous = nullptr;
}

void Dispatcher::EndSequences(PooledRun* run, uint64_t now_ns) {
  if (Sequence* const sequences = std::exchange(run->sequences, nullptr)) {
    scheduler_->Ended(sequences, now_ns);
  }
}

size_t Dispatcher::Account(PooledRun* run, Statistics* statistics, Latencies* latencies) {
  Forget(run);
  const size_t ended = run->Account(statistics, latencies);
  // Runs without requests have no record. Of the halves of a batch only the last one has it.
  const BatchRecord record = std::exchange(run->record, {});
  if (record.requests > 0) log_.Add(record);
  // This comes after the run has dropped what was injected.
  if (run->sequences) EndSequences(run, NowNs());
  run->DropLocked();
  return ended;
}

void Dispatcher::AddAnswered(Statistics* statistics) const {
  for (PooledRun* run = under_way_; run; run = run->next) run->AddAnswered(statistics);
}

void Dispatcher::AddAnswered(const GpuTotals* totals, Statistics* statistics,
                             const Latencies& latencies, LatencyCounts* counts) const {
  for (PooledRun* run = under_way_; run; run = run->next) {
    if (run->runner()->totals != totals) continue;
    run->AddAnswered(statistics);
    run->AddAnswered(latencies, counts);
  }
}

void Dispatcher::CopyBatches(std::vector<BatchRecord>* records) const {
  log_.CopyTo(records);
  for (PooledRun* run = under_way_; run && records->size() < records->capacity(); run = run->next) {
    if (run->record.requests > 0) records->push_back(run->record);
  }
}

bool Dispatcher::idle() const {
  return !under_way_ && std::none_of(runners_.begin(), runners_.end(),
                                     [](const auto* runner) { return runner->occupied; });
}

void Dispatcher::ThreadStarted(InstanceRunner* runner, bool started, uint64_t now_ns,
                               Orders* orders) {
  runner->thread_state = started ? ThreadState::kStarted : ThreadState::kRefused;
  if (started) return;
  threads_refused_ = true;
  PooledRun* run = std::exchange(runner->next, nullptr);
  runner->occupied = false;
  RequestChain requests;
  run->Disband(&requests);
  run->record = {};
  Forget(run);
  const bool of_sequences = run->sequences != nullptr;
  EndSequences(run, now_ns);
  run->DropLocked();
  Leave(runner, orders);
  if (!warming_) scheduler_->Finished(runner->index, now_ns);
  // Requests of a warm-up do not go back: they did not come from the scheduler. Those of a sequence
  // would be behind later ones.
  const bool room = !warming_ && !of_sequences && MakeRoom(requests.size());
  while (!requests.empty()) {
    Request* const request = requests.Pop();
    // The queue may be full by now.
    if (!room || !Enqueue(request, now_ns).ok()) orders->stranded.Append(request);
  }
}

void Dispatcher::RetryThreads() {
  if (!std::exchange(threads_refused_, false)) return;
  for (InstanceRunner* runner : runners_) {
    if (runner->thread_state == ThreadState::kRefused) runner->thread_state = ThreadState::kNone;
  }
}

}  // namespace tritonts

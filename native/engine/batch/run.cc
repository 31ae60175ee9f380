#include "engine/batch/run.h"

#include <mutex>
#include <utility>

#include "engine/base/rules.h"
#include "engine/batch/instance.h"

namespace tritonts {

// --- For the version.

void PooledRun::MakeRoom(size_t requests, const RunContext* context) {
  requests_.reserve(requests);
  members_.Reserve(requests);
  account_.Reserve(requests, context);
  outputs_.Reserve(requests);
  if (context->order) ordered_.Reserve(requests);
}

void PooledRun::Assign(std::span<Request* const> batch, uint64_t number, const RunContext* context,
                       InstanceRunner* runner, std::shared_ptr<RunOwner> owner, PooledRun* behind) {
  TRITONTS_ASSERT(life_.idle(), "a run was given a batch while it had one");
  MakeRoom(batch.size(), context);
  context_ = context;
  // The status is nearly always the same; a copy would cost a reference count.
  if (!not_single_.SameAs(context->not_single)) not_single_ = context->not_single;
  decoupled_ = context->decoupled;
  asynchronous_ = runner->asynchronous;
  leaves_open_ = context->decoupled || runner->leaves_open;
  const OutputKeeper* const keeper = additions_.keeper();
  outputs_.Begin(context, batch, keeper);
  kept_outputs_ = keeper ? keeper->kept_outputs() : std::span<const uint32_t>();
  requests_.assign(batch.begin(), batch.end());
  total_batch_size_ = outputs_.rows();
  members_.Assign();
  clock_.Assign(number, total_batch_size_);
  account_.Assign(context);
  memory_.Assign(context, runner);
  places_.Assign(context);
  responder_.Assign(context);
  scarce_.Assign(context);
  pace_.Assign(context);
  rerun_.Assign(context->rerun_in_halves && !asynchronous_ && batch.size() > 1 &&
                (!row_inputs_ || additions_.remade()));
  const uint32_t holds = static_cast<uint32_t>(batch.size()) + 2;
  life_.Assign(std::move(owner), runner, context->order ? holds + 1 : holds);
  if (context->order) ordered_.Join(context, behind ? &behind->ordered_ : nullptr);
}

void PooledRun::Disband(RequestChain* requests) {
  if (context_->order) ordered_.Leave();
  members_.Disband(requests);
  life_.Disband();
  ClearInjected();
}

void PooledRun::Inject(Batch* batch, BlockPool* pool) {
  row_inputs_ = additions_.Fill(batch, pool);
}

void PooledRun::ClearInjected() {
  additions_.Clear();
  row_inputs_ = nullptr;
}

void PooledRun::Begin(uint64_t now_ns) {
  std::lock_guard lock(members_.lock());
  clock_.Begin(now_ns);
}

bool PooledRun::Returned() {
  bool left = false;
  Status failure;
  if (!asynchronous_) {
    std::lock_guard lock(members_.lock());
    left = members_.undone() > 0;
    failure = rerun_.Take();
  }
  if (leaves_open_ && failure.ok()) left = false;
  if (left) RespondAll(failure.ok() ? context_->left_open : failure);
  return life_.Returned();
}

uint64_t PooledRun::ran_ns() {
  std::lock_guard lock(members_.lock());
  return clock_.last().compute_end_ns - clock_.last().exec_start_ns;
}

bool PooledRun::answered() {
  std::lock_guard lock(members_.lock());
  return account_.answered();
}

uint64_t PooledRun::began_ns() {
  std::lock_guard lock(members_.lock());
  return clock_.last().exec_start_ns;
}

void PooledRun::ReleaseHoldsOf(std::span<Request* const> requests) {
  if (context_->order) ordered_.SkipAll(requests);
  // These are never the last holds, because the thread that was in Execute has one.
  life_.ReleaseHolds(static_cast<uint32_t>(requests.size()));
}

size_t PooledRun::Account(Statistics* statistics, Latencies* latencies) {
  std::lock_guard lock(members_.lock());
  life_.Account();
  account_.AddTo(statistics, latencies);
  record.Ran(clock_.last().exec_start_ns, clock_.last().exec_end_ns);
  const size_t ended = members_.size() - members_.rescheduled() - null_rows();
  ClearInjected();
  return ended;
}

void PooledRun::AddAnswered(Statistics* statistics) {
  std::lock_guard lock(members_.lock());
  account_.AddAnswered(statistics);
}

void PooledRun::AddAnswered(const Latencies& latencies, LatencyCounts* counts) {
  std::lock_guard lock(members_.lock());
  account_.AddAnswered(latencies, counts);
}

bool PooledRun::Abandon(const Status& status) {
  scarce_.Abandon(status);
  return life_.Abandon();
}

// --- For the backend: outputs.

void PooledRun::SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                          const void* data, size_t size, Block* block) {
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  places_.Declare(kAll, {index, datatype, -1, tail, data, size, kind, block});
}

void PooledRun::SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                                const void* data, std::span<const size_t> offsets, Block* block) {
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  const size_t size = offsets.empty() ? 0 : offsets.back();
  places_.Declare(kAll, {index, datatype, -1, tail, data, size, kind, block}, offsets);
}

void PooledRun::SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                 std::span<const int64_t> shape, const void* data, size_t size,
                                 Block* block) {
  if (request == kAll) return;
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  places_.Declare(request, {index, datatype, -1, shape, data, size, kind, block});
}

// --- For the backend: responses.

void PooledRun::Send(uint32_t request, const Status& status, bool final, bool empty) {
  Lock lock(members_.lock());
  if (!members_.AwaitOpen(request, &lock)) return;
  if (rerun_.Withhold(request, status, final)) {
    const RunRef self(*this);  // the run may end when the lock is released
    lock.unlock();
    return places_.Drop(kAll);
  }
  if (Delivery* const delivery = responder_.Make(request, status, final, empty)) {
    lock.unlock();
    return context_->order ? ordered_.Deliver(delivery) : responder_.Deliver(delivery);
  }
  // Keeps the run, whose requests may all be done before the call returns.
  const RunRef self(*this);
  if (context_->order) return ordered_.RespondWithoutMemory(request, status, &lock);
  scarce_.Respond(request, status, final, &lock);
}

void PooledRun::Respond(uint32_t request, const Status& status, bool final) {
  if (!decoupled_) {
    return Send(request, final || !status.ok() ? status : not_single_, true, false);
  }
  if (!status.ok() || !pace_.AnyFull(request)) return Send(request, status, final, false);
  // Keeps the run from being reused for another batch when its last request ends.
  const RunRef self(*this);
  for (uint32_t i = members_.First(request); i < members_.Past(request); i++) {
    if (pace_.AnyFull(i)) Send(i, pace_.unread(), true, false);
  }
  Send(request, status, final, false);
}

void PooledRun::EndResponses(uint32_t request) {
  if (decoupled_) return Send(request, Status::Ok(), true, true);
  Send(request, not_single_, true, false);
}

void PooledRun::Release(uint32_t request) {
  for (uint32_t i = members_.First(request); i < members_.Past(request); i++) {
    {
      Lock lock(members_.lock());
      if (!members_.AwaitOpen(i, &lock)) continue;
      rerun_.Forbid();  // the inputs cannot be read again
      members_.Seize(i);
    }
    members_[i]->ReleaseInputs();
    std::lock_guard lock(members_.lock());
    members_.Reopen(i);
  }
}

void PooledRun::Reschedule(uint32_t request, bool seen) {
  bool is_null_row = false;
  Status fault;
  {
    Lock lock(members_.lock());
    if (request == kAll || !members_.AwaitOpen(request, &lock)) return;
    is_null_row = members_[request]->header->null_row;
    if (!is_null_row) fault = outputs_.FaultOfKept(request);
    if (!is_null_row && fault.ok()) {
      rerun_.Forbid();
      members_.Reschedule(request);
      if (seen && members_[request]->sequence().place) {
        SequenceMark& mark = members_[request]->mark();
        mark.start = mark.end = false;
      }
    }
  }
  // A null row has no queue to go back to.
  if (is_null_row) return EndResponses(request);
  // Its next run would find a state that is too old.
  if (!fault.ok()) return Respond(request, fault);
  KeepState(request);
  places_.Drop(request);
  if (context_->order) return ordered_.Requeue(request);
  life_.Requeue(members_[request]);
}

void PooledRun::KeepState(uint32_t request) {
  OutputKeeper* const keeper = additions_.keeper();
  if (!keeper) return;
  for (bool more = true; more;) {
    OutputTensor tensor;
    BlockRef block;  // dropped after the lock is released
    {
      const std::lock_guard lock(members_.lock());
      more = outputs_.TakeKept(request, &tensor, &block);
    }
    if (more) keeper->Keep(*members_[request], request, {&tensor, 1});
  }
}

}  // namespace tritonts

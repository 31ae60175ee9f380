#include "engine/batch/run.h"

#include <algorithm>
#include <array>
#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/batch/instance.h"

namespace tritonts {

// --- The states of a run.

void PooledRun::MakeRoom(size_t requests, const RunContext* context) {
  requests_.reserve(requests);
  phases_.reserve(requests);
  totals_.Reserve(requests);
  outputs_.Reserve(requests);
  if (context->decoupled) streamed_.reserve(requests);
  if (!context->order) return;
  ReservePlaces(requests);
  lost_.reserve(requests);
}

void PooledRun::Assign(std::span<Request* const> batch, uint64_t number, const RunContext* context,
                       InstanceRunner* runner, std::shared_ptr<RunOwner> owner, PooledRun* behind) {
  TRITONTS_ASSERT(holds_ == 0, "a run was given a batch while it had one");
  MakeRoom(batch.size(), context);
  context_ = context;
  runner_ = runner;
  owner_ = std::move(owner);
  // It is nearly always the same, and copying it counts references.
  if (!cancelled_.SameAs(context->cancelled)) {
    cancelled_ = context->cancelled;
    not_single_ = context->not_single;
    unread_ = context->unread;
  }
  decoupled_ = context->decoupled;
  asynchronous_ = runner->asynchronous;
  outputs_.Begin(context, batch, keeper_.get());
  requests_.assign(batch.begin(), batch.end());
  for (Request* request : batch) {
    TRITONTS_ASSERT(request->state() == Request::State::kQueued, "a batch took a request twice");
    request->set_state(Request::State::kRunning);
  }
  total_batch_size_ = outputs_.rows();
  timings_ = BatchTimings();
  timings_.batch = number;
  timings_.batch_size = total_batch_size_;
  totals_.Clear();
  phases_.assign(requests_.size(), Phase::kOpen);
  streamed_.assign(context->decoupled ? requests_.size() : 0, Streamed());
  undone_ = requests_.size();
  delivering_ = rescheduled_ = 0;
  abandoned_ = spoke_ = false;
  repeatable_ = context->rerun_in_halves && !asynchronous_ && requests_.size() > 1 &&
                !row_inputs_ && !keeper_;
  failed_.store(false, std::memory_order_relaxed);
  inputs_ready_ns_.store(0, std::memory_order_relaxed);
  computed_ns_.store(0, std::memory_order_relaxed);
  freed_.store(false, std::memory_order_relaxed);
  execution_.store(Execution::kNone, std::memory_order_relaxed);
  const uint32_t holds = static_cast<uint32_t>(requests_.size()) + 2;
  holds_.store(context->order ? holds + 1 : holds, std::memory_order_release);
  if (!context->order) return;
  lost_.assign(requests_.size(), Status());
  context->order->Join(this, requests_.size(), behind);
}

void PooledRun::Disband(RequestChain* requests) {
  if (context_->order) context_->order->Leave(this);
  for (Request* request : requests_) {
    request->set_state(Request::State::kQueued);
    if (!request->header->null_row) requests->Append(request);
  }
  std::lock_guard lock(lock_);
  phases_.assign(phases_.size(), Phase::kDone);
  undone_ = 0;
  holds_.store(0, std::memory_order_release);
  owner_.reset();
  ClearInjected();
}

void PooledRun::Inject(Batch* batch, BlockPool* pool) {
  if (!injected_) injected_ = std::make_unique<RowInputs>();
  injected_->Fill(batch->members, batch->overlays, pool);
  row_inputs_ = injected_.get();
  null_rows_ = injected_->null_rows();
  keeper_ = batch->keeper;
}

void PooledRun::ClearInjected() {
  if (injected_) injected_->Clear();
  row_inputs_ = nullptr;
  null_rows_ = 0;
  keeper_.reset();
}

void PooledRun::Begin(uint64_t now_ns) {
  std::lock_guard lock(lock_);
  timings_.exec_start_ns = now_ns;
}

bool PooledRun::Returned() {
  bool left = false;
  Status failure;
  if (!asynchronous_) {
    std::lock_guard lock(lock_);
    left = undone_ > 0;
    repeatable_ = false;
    if (failed_.exchange(false, std::memory_order_acq_rel)) {
      failure = std::exchange(failure_, Status());
    }
  }
  // A decoupled model goes on when Execute has returned.
  if (decoupled_ && failure.ok()) left = false;
  if (left) RespondAll(failure.ok() ? context_->left_open : failure);
  return execution_.exchange(Execution::kNone, std::memory_order_acq_rel) != Execution::kAbandoned;
}

uint64_t PooledRun::ran_ns() {
  std::lock_guard lock(lock_);
  return timings_.compute_end_ns - timings_.exec_start_ns;
}

bool PooledRun::answered() {
  std::lock_guard lock(lock_);
  return totals_.ok > 0;
}

bool PooledRun::LetGo(uint32_t holds) {
  if (holds_.fetch_sub(holds, std::memory_order_acq_rel) != holds) return false;
  // Later calls find every request done.
  outputs_.Clear();
  // Null rows are counted until Account.
  if (row_inputs_) injected_->Clear();
  return true;
}

void PooledRun::Done() {
  const std::shared_ptr<RunOwner> owner = std::move(owner_);
  owner->OnDone(this);
}

size_t PooledRun::Account(Statistics* statistics, Latencies* latencies) {
  std::lock_guard lock(lock_);
  owner_.reset();
  totals_.AddTo(statistics, timings_);
  statistics->last_inference_ms = WallMs();
  record.Ran(timings_.exec_start_ns, timings_.exec_end_ns);
  if (latencies) latencies->Add(totals_.parts, timings_.exec_end_ns);
  const size_t ended = requests_.size() - rescheduled_ - null_rows_;
  ClearInjected();
  return ended;
}

void PooledRun::AddAnswered(Statistics* statistics) {
  std::lock_guard lock(lock_);
  if (totals_.ended() == 0) return;
  totals_.AddTo(statistics, timings_);
  // Not when it is asked: that goes on.
  const uint64_t ago_ns = timings_.exec_end_ns == 0 ? 0 : NowNs() - timings_.exec_end_ns;
  statistics->last_inference_ms =
      std::max(statistics->last_inference_ms, WallMs() - ago_ns / 1'000'000);
}

void PooledRun::AddAnswered(const Latencies& latencies, LatencyCounts* counts) {
  std::lock_guard lock(lock_);
  if (totals_.ended() > 0) latencies.AddTo(counts, totals_.parts);
}

bool PooledRun::Abandon(const Status& status) {
  std::array<Response, kFew> few;
  size_t count = 0;
  do {
    {
      Lock lock(lock_);
      AwaitOpen(kAll, &lock);
      abandoned_ = true;
      // If the run never began, its begin and end are now.
      if (timings_.exec_start_ns == 0) timings_.exec_start_ns = NowNs();
      BatchTimings timings;
      Stamp(&timings);
      count = 0;
      for (uint32_t i = 0; i < requests_.size() && count < few.size(); i++) {
        if (phases_[i] == Phase::kDone) continue;
        End(i, Request::State::kDone);
        few[count] = {};
        few[count].request = requests_[i];
        few[count].status = status;
        few[count++].abandoned = true;
        NoteResponse(i, few[count - 1], false, timings);
        totals_.AddFailed(*requests_[i]->header, timings, RunTotals::Failure::kOther);
      }
    }
    DeliverAll(std::span(few).first(count));
  } while (count == few.size());
  // Its holds are never dropped, so it counts as under way for the life of the process.
  Execution under_way = Execution::kUnderWay;
  return execution_.compare_exchange_strong(under_way, Execution::kAbandoned,
                                            std::memory_order_acq_rel);
}

void PooledRun::InstanceFree() {
  if (!FreeInstance()) return;
  // Read while this thread has the instance's hold. Afterwards the run may be assigned again.
  InstanceRunner* const runner = runner_;
  const std::shared_ptr<RunOwner> owner = owner_;
  owner->OnInstanceFree(runner, LetGo(1) ? this : nullptr);
}

// --- What a backend asks for and declares.

BlockPool& PooledRun::pool() {
  return runner_->pool;
}

MemoryCopier* PooledRun::memory() {
  return runner_->instance->memory();
}

void PooledRun::MarkInputsReady(uint64_t at_ns) {
  inputs_ready_ns_.store(at_ns != 0 ? at_ns : NowNs(), std::memory_order_relaxed);
}

void PooledRun::MarkComputed(uint64_t at_ns) {
  computed_ns_.store(at_ns != 0 ? at_ns : NowNs(), std::memory_order_relaxed);
}

StatusOr<Buffer> PooledRun::Allocate(size_t size, MemoryKind preferred) {
  BlockRef block;
  if (preferred != MemoryKind::kHost && memory()) {
    block = memory()->Allocate(preferred, runner_->device, size);
  }
  if (!block) block = pool().Acquire(size);
  if (!block)
    return Status::Unavailable(Reason::kNoMemory,
                               "no memory for " + std::to_string(size) + " bytes");
  return Buffer{block->data(), size, block->kind(), block->device(), block};
}

StatusOr<Buffer> PooledRun::Output(uint32_t request, uint32_t index, DataType datatype,
                                   std::span<const int64_t> shape, MemoryKind preferred) {
  try {
    return Place(request, index, datatype, shape, preferred);
  } catch (const std::bad_alloc&) {
    return context_->no_response;
  }
}

StatusOr<Buffer> PooledRun::Place(uint32_t request, uint32_t index, DataType datatype,
                                  std::span<const int64_t> shape, MemoryKind preferred) {
  // If the output is for one request alone, its sink may have a place for it.
  const uint32_t one = request == kAll && requests_.size() == 1 ? 0 : request;
  std::optional<size_t> size;
  {
    Lock lock(lock_);
    if (!AwaitOpen(one, &lock)) return cancelled_;
    size = outputs_.SizeOf(request, datatype, shape);
    if (!size) return Status::Internal(outputs_.NoPlace(index, datatype, shape));
    if (one != kAll) Seize(one);
  }
  Buffer buffer;
  if (one != kAll) {
    const Request& owner = *requests_[one];
    // What is held for later is not in the sink's place, which the next response may need.
    if (owner.header->Wants(index) && *size > 0 && !context_->order) {
      buffer = owner.header->sink->Place(owner, index, *size, preferred);
    }
    std::lock_guard lock(lock_);
    Reopen(one);
  }
  if (!buffer.data || buffer.size < *size) {
    auto allocated = Allocate(*size, preferred);
    if (!allocated.ok()) return allocated.status();
    buffer = allocated.take();
  }
  buffer.size = *size;
  Declare(request,
          {index, datatype, -1, shape, buffer.data, *size, buffer.kind, buffer.owner.get()});
  return buffer;
}

void PooledRun::Declare(uint32_t request, const OutputTensor& tensor,
                        std::span<const size_t> offsets) {
  BlockRef replaced;
  std::lock_guard lock(lock_);
  if (undone_ == 0 || failed()) return;
  if (request < phases_.size() && phases_[request] == Phase::kDone) return;
  replaced = outputs_.Declare(request, tensor, offsets);
}

void PooledRun::SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                          const void* data, size_t size, Block* block) {
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  Declare(kAll, {index, datatype, -1, tail, data, size, kind, block});
}

void PooledRun::SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                                const void* data, std::span<const size_t> offsets, Block* block) {
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  const size_t size = offsets.empty() ? 0 : offsets.back();
  Declare(kAll, {index, datatype, -1, tail, data, size, kind, block}, offsets);
}

void PooledRun::SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                 std::span<const int64_t> shape, const void* data, size_t size,
                                 Block* block) {
  if (request == kAll) return;
  const MemoryKind kind = block ? block->kind() : MemoryKind::kHost;
  Declare(request, {index, datatype, -1, shape, data, size, kind, block});
}

}  // namespace tritonts

// A version's requests: how they come in, and how those end that no run ends.
#include "engine/running/model_version.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/rules.h"

namespace tritonts {

namespace {

constexpr size_t kFew = 64;  // requests that are responded to together

}  // namespace

void ModelVersion::Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTick* tick) {
  Orders orders;
  InstanceRunner* mine = nullptr;
  PooledRun* run = nullptr;
  std::vector<std::pair<Request*, Status>> refused;
  RequestChain starved;  // there was no memory to say why
  Status none;           // why none is taken
  bool unserved = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || !dispatcher_) {
      unserved = true;
      none = unloaded_;
    } else if (terminated_ || Exiting()) {
      none = exits_;
    } else if (!dispatcher_->MakeRoom(requests.size())) {
      none = context_.no_memory;
    } else {
      Scheduler& scheduler = dispatcher_->scheduler();
      // Whoever waits already goes first, and elsewhere.
      const bool first = scheduler.waiting() == 0;
      for (Request* request : requests) {
        TRITONTS_ASSERT(request->state() == Request::State::kSubmitted, "a request came in twice");
        Status status = dispatcher_->Enqueue(request, now_ns);
        if (status.ok()) {
          request->set_state(Request::State::kQueued);
          in_flight_++;
          continue;
        }
        try {
          refused.emplace_back(request, std::move(status));
        } catch (const std::bad_alloc&) {
          starved.Append(request);
        }
      }
      dispatcher_->RetryThreads();
      Dispatch(now_ns, nullptr, &orders);
      if (tick && first) mine = dispatcher_->inline_policy().Choose(*tick, &orders.wake);
      if (mine) run = dispatcher_->TakeBatch(mine);
    }
  }
  if (!none.ok()) return Respond(requests, none, unserved);
  Carry(&orders);
  if (mine) {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (RunBatch(mine, &run, tick, &lock) == Ran::kHasNext) continue;
  }
  for (const auto& [request, status] : refused) {
    Request* const one[] = {request};
    Respond(one, status);
  }
  while (!starved.empty()) {
    Request* const one[] = {starved.Pop()};
    Respond(one, context_.no_memory);
  }
}

void ModelVersion::Cancel(std::span<Request* const> requests) {
  RequestChain waiting;
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    for (Request* request : requests) {
      request->cancelled.store(true, std::memory_order_relaxed);
      if (dispatcher_ && dispatcher_->scheduler().Cancel(request)) waiting.Append(request);
    }
    if (waiting.empty()) return;
    // What waited with these may run together now, or is to be looked at earlier.
    Dispatch(NowNs(), nullptr, &orders);
  }
  Fail(&waiting, context_.cancelled);
  // What this finds in it keeps the version; where it is empty, the version may be gone.
  Carry(&orders);
}

void ModelVersion::OnTimer(uint64_t now_ns) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    Dispatch(std::max(now_ns, NowNs()), nullptr, &orders);
  }
  Carry(&orders);
}

void ModelVersion::OnReschedule(Request* request) {
  Orders orders;
  Status refused;
  {
    std::lock_guard lock(mutex_);
    const uint64_t now = NowNs();
    if (request->cancelled.load(std::memory_order_relaxed)) {
      refused = context_.cancelled;
    } else if (!aborted_.ok()) {
      refused = aborted_;
    } else if (!dispatcher_->MakeRoom(1)) {
      refused = context_.no_memory;
    } else {
      refused = dispatcher_->Enqueue(request, now);
      if (refused.ok()) Dispatch(now, nullptr, &orders);
    }
  }
  Carry(&orders);
  if (refused.ok()) return;
  RequestChain one;
  one.Append(request);
  Fail(&one, refused);
}

Statistics ModelVersion::statistics() const {
  std::lock_guard lock(mutex_);
  Statistics statistics = statistics_;
  if (dispatcher_) dispatcher_->AddAnswered(&statistics);
  return statistics;
}

void ModelVersion::Dispatch(uint64_t now_ns, InstanceRunner* awake, Orders* orders) {
  if (!dispatcher_ || terminated_ || Exiting()) return;
  dispatcher_->Ask(now_ns, awake, shared_from_this(), orders);
  starts_ += static_cast<uint32_t>(orders->start.size());
  // Under the lock: what is scheduled later is decided later.
  if (orders->wake_at_ns != 0) timer_->Schedule(this, orders->wake_at_ns);
}

void ModelVersion::AccountLocked(PooledRun* run) {
  const size_t ended = dispatcher_->Account(run, &statistics_);
  TRITONTS_ASSERT(in_flight_ >= ended, "more requests ended than were accepted");
  in_flight_ -= ended;
}

void ModelVersion::NoteDrained(Orders* orders) const {
  orders->drained = closed_ && DrainedLocked();
}

void ModelVersion::Carry(Orders* orders) {
  orders->wake.Notify();
  while (!orders->start.empty()) StartThread(orders->start.Pop());
  if (!orders->expired.empty()) Fail(&orders->expired, expired_);
  if (!orders->stranded.empty()) Fail(&orders->stranded, no_thread_);
  if (!orders->starved.empty()) Fail(&orders->starved, context_.no_memory);
  while (!orders->hand_over.empty()) HandOver(orders->hand_over.Pop());
  if (orders->drained) on_drained_();
}

void ModelVersion::Respond(std::span<Request* const> requests, const Status& status,
                           bool unserved) const {
  for (Request* request : requests) {
    TRITONTS_ASSERT(request->state() == Request::State::kSubmitted ||
                        request->state() == Request::State::kQueued,
                    "a request ended twice");
    request->set_state(Request::State::kDone);
  }
  Response like;
  like.status = status;
  like.unserved = unserved;
  DeliverEach(requests, like);
}

void ModelVersion::Fail(RequestChain* requests, const Status& status) {
  const uint64_t now = NowNs();
  const size_t count = requests->size();
  uint64_t ns = 0;
  for (const Request* one = requests->front(); one; one = one->next) {
    ns += now - one->header->arrival_ns;
  }
  {
    // Before the responses: whoever has one finds it counted.
    std::lock_guard lock(mutex_);
    statistics_.fail.Add(count, ns);
    if (status.code() == Code::kCancelled) statistics_.cancelled += count;
    if (status.SameAs(expired_)) statistics_.rejected += count;
  }
  std::array<Request*, kFew> few;
  while (!requests->empty()) {
    // Out of the chain before its sink has it.
    size_t taken = 0;
    while (taken < few.size() && !requests->empty()) few[taken++] = requests->Pop();
    Respond(std::span(few).first(taken), status);
  }
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(in_flight_ >= count, "more requests ended than were accepted");
    in_flight_ -= count;
    NoteDrained(&orders);
  }
  Carry(&orders);
}

void ModelVersion::SetShapeKey(RequestHeader* header) const {
  header->shape_key.clear();
  if (!keyed_) return;
  const size_t first = io_.max_batch_size > 0 ? 1 : 0;
  for (const InputTensor& input : std::as_const(*header).inputs()) {
    if (has_optional_) header->shape_key.push_back(input.index);
    if (!variable_inputs_[input.index]) continue;
    header->shape_key.insert(header->shape_key.end(), input.shape.begin() + first,
                             input.shape.end());
  }
}

}  // namespace tritonts

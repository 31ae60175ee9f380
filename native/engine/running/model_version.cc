// A version's requests: how they come in, and how those end that no run ends.
#include "engine/running/model_version.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/rules.h"

namespace tritonts {

void ModelVersion::Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTick* tick) {
  Orders orders;
  InstanceRunner* mine = nullptr;
  PooledRun* run = nullptr;
  std::vector<std::pair<Request*, Status>> refused;
  Status none;  // why none is taken
  bool unserved = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || !dispatcher_) {
      unserved = true;
      none = Status::Unavailable("model '" + name_ + "', version " + std::to_string(version_) +
                                 ": is being unloaded");
    } else if (terminated_ || Exiting()) {
      none = Status::Unavailable("model '" + name_ + "': the process is exiting");
    } else {
      Scheduler& scheduler = dispatcher_->scheduler();
      // Whoever waits already goes first, and elsewhere.
      const bool first = scheduler.waiting() == 0;
      for (Request* request : requests) {
        TRITONTS_ASSERT(request->state() == Request::State::kSubmitted, "a request came in twice");
        Status status = scheduler.Enqueue(request, now_ns);
        if (status.ok()) {
          request->set_state(Request::State::kQueued);
          in_flight_++;
        } else {
          refused.emplace_back(request, std::move(status));
        }
      }
      dispatcher_->RetryThreads();
      Dispatch(now_ns, nullptr, &orders);
      if (tick && first) mine = dispatcher_->inline_policy().Choose(*tick, &orders.wake);
      if (mine) run = dispatcher_->TakeBatch(mine);
    }
  }
  if (!none.ok()) return Respond(requests, none, unserved);
  Carry(orders);
  if (mine) {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (RunBatch(mine, &run, tick, &lock) == Ran::kHasNext) continue;
  }
  for (const auto& [request, status] : refused) {
    Request* const one[] = {request};
    Respond(one, status);
  }
}

void ModelVersion::Cancel(std::span<Request* const> requests) {
  // Before any is taken out: without memory for it none is.
  const Status status = Status::Cancelled("model '" + name_ + "': the request was cancelled");
  std::vector<Request*> waiting;
  waiting.reserve(requests.size());
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    for (Request* request : requests) {
      request->cancelled.store(true, std::memory_order_relaxed);
      if (dispatcher_ && dispatcher_->scheduler().Cancel(request)) waiting.push_back(request);
    }
    if (waiting.empty()) return;
    // What waited with these may run together now, or is to be looked at earlier.
    Dispatch(NowNs(), nullptr, &orders);
  }
  Fail(waiting, status);
  // What this finds in it keeps the version; where it is empty, the version may be gone.
  Carry(orders);
}

void ModelVersion::OnTimer(uint64_t now_ns) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    Dispatch(std::max(now_ns, NowNs()), nullptr, &orders);
  }
  Carry(orders);
}

void ModelVersion::OnReschedule(Request* request) {
  Orders orders;
  Status refused;
  {
    std::lock_guard lock(mutex_);
    const uint64_t now = NowNs();
    if (request->cancelled.load(std::memory_order_relaxed)) {
      refused = Status::Cancelled("model '" + name_ + "': the request was cancelled");
    } else if (!aborted_.ok()) {
      refused = aborted_;
    } else {
      refused = dispatcher_->scheduler().Enqueue(request, now);
      if (refused.ok()) Dispatch(now, nullptr, &orders);
    }
  }
  Carry(orders);
  Request* const one[] = {request};
  if (!refused.ok()) Fail(one, refused);
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

void ModelVersion::Carry(const Orders& orders) {
  orders.wake.Notify();
  for (InstanceRunner* runner : orders.start) StartThread(runner);
  if (!orders.expired.empty()) {
    Fail(orders.expired, Status::Unavailable("model '" + name_ + "': request timeout expired"));
  }
  if (!orders.stranded.empty()) {
    Fail(orders.stranded,
         Status::Unavailable("model '" + name_ + "': the system has no thread for its instances"));
  }
  for (InstanceRunner* runner : orders.hand_over) HandOver(runner);
  if (orders.drained) on_drained_();
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

void ModelVersion::Fail(std::span<Request* const> requests, const Status& status) {
  const uint64_t now = NowNs();
  uint64_t ns = 0;
  for (const Request* request : requests) ns += now - request->header->arrival_ns;
  {
    // Before the responses: whoever has one finds it counted.
    std::lock_guard lock(mutex_);
    statistics_.fail.Add(requests.size(), ns);
    uint64_t& why =
        status.code() == Code::kCancelled ? statistics_.cancelled : statistics_.rejected;
    why += requests.size();
  }
  Respond(requests, status);
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(in_flight_ >= requests.size(), "more requests ended than were accepted");
    in_flight_ -= requests.size();
    NoteDrained(&orders);
  }
  Carry(orders);
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

// A version's requests: how they are submitted and cancelled, and how they end without a run.
#include "engine/version/model_version.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/rules.h"
#include "engine/request/shape_values.h"

namespace tritonts {

namespace {

constexpr size_t kRespondedAtOnce = 64;  // how many requests are responded to with one delivery

}  // namespace

// Refused requests, grouped by the reason.
struct ModelVersion::Refusals {
  struct Refusal {
    Status status;
    RequestChain requests;
  };
  // A queue mostly has one reason, or one for each of a few priority levels.
  SmallVector<Refusal, 2> all;
  RequestChain starved;  // refused requests whose reason found no memory

  void Add(Request* request, const Status& status) {
    for (Refusal& known : all) {
      if (known.status.SameAs(status)) return known.requests.Append(request);
    }
    Refusal refusal{status, {}};
    refusal.requests.Append(request);
    try {
      all.push_back(std::move(refusal));
    } catch (const std::bad_alloc&) {
      starved.Append(request);
    }
  }
};

void ModelVersion::TakeIn(std::span<Request* const> requests, uint64_t now_ns, Refusals* refusals,
                          Orders* orders) {
  for (Request* request : requests) {
    TRITONTS_ASSERT(request->state() == Request::State::kSubmitted, "a request came in twice");
    // Set before the scheduler has the request: it may be in a run before the next is queued.
    request->set_state(Request::State::kQueued);
  }
  bool asked = false;  // whether Dispatch was called since the last request was queued
  while (!requests.empty()) {
    Status refused;
    const size_t taken = dispatcher_->EnqueueSome(requests, now_ns, &refused);
    in_flight_ += taken;
    requests = requests.subspan(taken);
    if (requests.empty()) return;
    if (taken > 0 || !asked) {
      // Dispatch and expire now; that may free queue space.
      asked = true;
      Dispatch(now_ns, nullptr, orders);
      continue;
    }
    // If the queue has no room for one request, it has none for the others of the same header. They
    // are refused without asking the scheduler, which would take quadratic time. Those of other
    // sequences may be accepted.
    const RequestHeader* const header = requests.front()->header;
    do {
      Request* const request = requests.front();
      requests = requests.subspan(1);
      request->set_state(Request::State::kSubmitted);
      statistics_.refused++;
      refusals->Add(request, refused);
    } while (!requests.empty() && requests.front()->header == header && header->marks().empty());
  }
}

void ModelVersion::Accept(std::span<Request* const> requests, uint64_t now_ns,
                          InlineTime* inline_time) noexcept {
  Orders orders;
  InstanceRunner* mine = nullptr;
  PooledRun* run = nullptr;
  Refusals refusals;
  Response none;  // not ok: the reason why all requests are refused
  {
    std::lock_guard lock(mutex_);
    if (closed_ || !dispatcher_) {
      none.unserved = true;
      // Requests to an aborted version get the status of those that waited in it. An ensemble may
      // submit so late, because its earlier steps go on.
      none.status = refusal_;
    } else if (terminated_ || Exiting()) {
      none.status = exits_;
      statistics_.refused += requests.size();
    } else if (!dispatcher_->MakeRoom(requests.size())) {
      none.status = context_.no_memory;
      statistics_.refused += requests.size();
    } else {
      // A batch runs on this thread only if no earlier request waits.
      const bool first = dispatcher_->scheduler().waiting() == 0;
      TakeIn(requests, now_ns, &refusals, &orders);
      dispatcher_->RetryThreads();
      Dispatch(now_ns, nullptr, &orders);
      if (inline_time && inline_time->of_instance) dispatcher_->inline_policy().ExpectGuests();
      if (inline_time && first)
        mine = dispatcher_->inline_policy().Choose(*inline_time, &orders.wake);
      if (mine) {
        run = dispatcher_->TakeBatch(mine);
        run->record.ran_inline = !inline_time->of_instance;
      }
    }
  }
  if (!none.status.ok()) return Respond(requests, none);
  Carry(&orders);
  if (mine) {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (RunBatch(mine, &run, inline_time, &lock) == Ran::kHasNext) continue;
  }
  Response like;
  for (auto& [status, refused] : refusals.all) {
    like.status = status;
    like.limited = status.code() == Code::kUnavailable && !status.SameAs(context_.no_memory);
    Respond(&refused, like);
  }
  like.status = context_.no_memory;
  like.limited = false;
  Respond(&refusals.starved, like);
}

void ModelVersion::CancelAccepted(std::span<Request* const> requests) noexcept {
  RequestChain waiting;
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    for (Request* request : requests) {
      request->cancelled.store(true, std::memory_order_relaxed);
      if (dispatcher_ && dispatcher_->scheduler().Cancel(request)) waiting.Append(request);
    }
    if (waiting.empty()) return;
    // The requests that remain may form a batch now, or need another wake-up time.
    Dispatch(NowNs(), nullptr, &orders);
  }
  // The cancelled requests still keep the version alive.
  if (std::exchange(orders.may_remove, false)) TellLeft();
  Fail(&waiting, context_.cancelled);
  // If the orders have anything in them, that keeps the version alive. If not, the version may be
  // gone, and Carry does not touch it.
  Carry(&orders);
}

void ModelVersion::OnTimer(uint64_t now_ns) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    timer_at_ns_ = 0;
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
    } else if (warming()) {
      refused = MakeStatus([&] {
        return Status::Unsupported("model '" + name_ +
                                   "': a request of a warm-up cannot be queued again: do not "
                                   "reschedule it, or configure no model_warmup");
      });
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

void ModelVersion::Dispatch(uint64_t now_ns, InstanceRunner* awake, Orders* orders) {
  if (!dispatcher_ || terminated_ || Exiting()) return;
  const size_t starts = orders->start.size();
  dispatcher_->Ask(now_ns, awake, this, orders);
  // The last sequence of an instance that is leaving may have ended.
  NoteLeft(orders);
  starts_ += static_cast<uint32_t>(orders->start.size() - starts);
  const uint64_t at = orders->wake_at_ns;
  if (at == 0 || (timer_at_ns_ != 0 && timer_at_ns_ <= at)) return;
  // The timer is scheduled only if its pending time is too late, because with request deadlines
  // the time changes with each batch. Scheduling under the lock keeps the calls in the order of the
  // decisions.
  timer_at_ns_ = at;
  timer_->Schedule(this, at);
}

void ModelVersion::AccountLocked(PooledRun* run) {
  GpuTotals* const gpu = run->runner()->totals;
  const size_t ended = gpu ? dispatcher_->Account(run, &gpu->statistics, &gpu->latencies)
                           : dispatcher_->Account(run, &statistics_, latencies_.get());
  TRITONTS_ASSERT(in_flight_ >= ended, "more requests ended than were accepted");
  in_flight_ -= ended;
}

void ModelVersion::NoteDrained(Orders* orders) {
  orders->drained = closed_ && DrainedLocked();
  if (warming() && DrainedLocked()) warmed_.notify_all();
  NoteLeft(orders);
}

void ModelVersion::Carry(Orders* orders) {
  orders->wake.Notify();
  if (orders->may_remove) TellLeft();
  // This comes first, because the steps below may take long.
  if (orders->left) orders->left->AdmitAndTell();
  while (!orders->start.empty()) StartThread(orders->start.Pop());
  if (!orders->expired.empty()) Fail(&orders->expired, expired_);
  if (!orders->cancelled.empty()) Fail(&orders->cancelled, context_.cancelled);
  if (!orders->broken.empty()) Fail(&orders->broken, broken_);
  if (!orders->stranded.empty()) Fail(&orders->stranded, no_thread_);
  if (!orders->starved.empty()) Fail(&orders->starved, context_.no_memory);
  while (!orders->hand_over.empty()) HandOver(orders->hand_over.Pop());
  if (orders->drained) on_drained_();
}

void ModelVersion::Respond(std::span<Request* const> requests, const Response& like) const {
  for (Request* request : requests) {
    TRITONTS_ASSERT(request->state() == Request::State::kSubmitted ||
                        request->state() == Request::State::kQueued,
                    "a request ended twice");
    request->set_state(Request::State::kDone);
  }
  DeliverEach(requests, like);
}

void ModelVersion::Respond(RequestChain* requests, const Response& like) const {
  std::array<Request*, kRespondedAtOnce> few;
  while (!requests->empty()) {
    // Each request leaves the chain before its sink gets the response, which may reuse it.
    size_t taken = 0;
    while (taken < few.size() && !requests->empty()) few[taken++] = requests->Pop();
    Respond(std::span(few).first(taken), like);
  }
}

void ModelVersion::Fail(RequestChain* requests, const Status& status) {
  const uint64_t now = NowNs();
  const size_t count = requests->size();
  uint64_t ns = 0;
  for (const Request* one = requests->front(); one; one = one->next) {
    ns += now - one->header->arrival_ns;
  }
  {
    // This precedes the responses, so that the statistics count a request before its caller has
    // the response.
    std::lock_guard lock(mutex_);
    statistics_.fail.Add(count, ns);
    if (status.code() == Code::kCancelled) statistics_.cancelled += count;
    if (status.SameAs(expired_)) statistics_.rejected += count;
  }
  Response like;
  like.status = status;
  Respond(requests, like);
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(in_flight_ >= count, "more requests ended than were accepted");
    in_flight_ -= count;
    NoteDrained(&orders);
  }
  Carry(&orders);
}

void ModelVersion::SetQueueKeys(RequestHeader* header) const {
  if (queue_policies_) {
    header->level = queue_policies_->LevelOf(header->priority);
    header->deadline_ns =
        queue_policies_->DeadlineOf(header->level, header->timeout_ns, header->arrival_ns);
  } else {
    header->level = header->deadline_ns = 0;
  }
  header->shape_key.clear();
  if (!keyed_) return;
  const size_t first = io_.max_batch_size > 0 ? 1 : 0;
  for (const InputTensor& input : std::as_const(*header).inputs()) {
    if (has_optional_) header->shape_key.push_back(input.index);
    const Keyed keyed = keyed_inputs_[input.index];
    if (keyed == Keyed::kNothing) continue;
    if (keyed == Keyed::kValues) {
      // The number of values, which may be variable, and all values except the first, the rows.
      header->shape_key.push_back(input.shape.empty() ? 0 : input.shape[0]);
      AppendShapeValues(*header, input.index, 1, &header->shape_key);
      continue;
    }
    header->shape_key.insert(header->shape_key.end(), input.shape.begin() + first,
                             input.shape.end());
  }
}

}  // namespace tritonts

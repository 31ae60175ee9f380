// How a run's responses are made and delivered to the sinks.
#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/batch/run.h"

namespace tritonts {

void PooledRun::Delivery::Clear() {
  outputs.clear();
  output_counts.clear();
  kept.Clear();
  responses.clear();
  uncounted.clear();
  blocks.clear();
  copies.clear();
  shapes.clear();
  positions.clear();
  finals = 0;
  empty = alike = spoilt = false;
}

void PooledRun::Delivery::Reserve(size_t most_responses, size_t most_outputs, size_t most_blocks) {
  outputs.reserve(most_outputs);
  output_counts.reserve(most_responses);
  responses.reserve(most_responses);
  uncounted.reserve(most_responses);
  open.reserve(most_responses);
  positions.reserve(most_responses);
  blocks.reserve(most_blocks);
}

PooledRun::Delivery* PooledRun::TakeDelivery(size_t responses, size_t outputs) {
  try {
    if (deliveries_.empty()) {
      deliveries_.reserve(deliveries_made_ + 1);
      deliveries_.push_back(std::make_unique<Delivery>());
      deliveries_made_++;
    }
    // Room for a block of each output, and of each one that is dropped afterwards.
    deliveries_.back()->Reserve(responses, outputs, outputs + outputs_.whole() + outputs_.single());
    if (keeper_) deliveries_.back()->kept.Reserve(outputs);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  Delivery* delivery = deliveries_.back().release();
  deliveries_.pop_back();
  return delivery;
}

PooledRun::Delivery* PooledRun::TakeDeliveryFor(uint32_t request) {
  const size_t responses = request == kAll ? undone_ : 1;
  return TakeDelivery(responses, responses * outputs_.whole() + outputs_.single());
}

bool PooledRun::AwaitOpen(uint32_t request, Lock* lock) {
  if ((request != kAll && request >= phases_.size()) || failed()) return false;
  while (request == kAll ? delivering_ > 0 : phases_[request] == Phase::kDelivering) {
    lock->unlock();
    std::this_thread::yield();  // another thread is delivering, or asks the sink for a place
    lock->lock();
  }
  return request == kAll ? undone_ > 0 : phases_[request] != Phase::kDone;
}

void PooledRun::Seize(uint32_t position) {
  phases_[position] = Phase::kDelivering;
  delivering_++;
}

void PooledRun::Reopen(uint32_t position) {
  phases_[position] = Phase::kOpen;
  delivering_--;
}

void PooledRun::End(uint32_t position, Request::State state) {
  TRITONTS_ASSERT(requests_[position]->state() == Request::State::kRunning,
                  "a request ended twice");
  phases_[position] = Phase::kDone;
  undone_--;
  requests_[position]->set_state(state);
}

void PooledRun::Stamp(BatchTimings* timings) const {
  const uint64_t now = NowNs();
  const uint64_t ready = inputs_ready_ns_.load(std::memory_order_relaxed);
  const uint64_t computed = computed_ns_.load(std::memory_order_relaxed);
  *timings = timings_;
  timings->exec_end_ns = now;
  // What a device tells is not exact to the nanosecond.
  const uint64_t begin = std::min(timings->exec_start_ns, now);
  timings->compute_end_ns = computed != 0 ? std::clamp(computed, begin, now) : now;
  timings->compute_start_ns =
      ready != 0 ? std::clamp(ready, begin, timings->compute_end_ns) : timings->compute_end_ns;
}

RunTotals::Failure PooledRun::FailureOf(const Status& status, bool cancelled) const {
  if (cancelled) return RunTotals::Failure::kCancelled;
  return status.SameAs(context_->no_response) || status.SameAs(context_->unread)
             ? RunTotals::Failure::kOther
             : RunTotals::Failure::kBackend;
}

void PooledRun::Count(const Response& response, bool cancelled, uint64_t first_ns) {
  if (response.status.ok()) {
    totals_.AddOk(*response.request->header, 1, *response.timings, first_ns);
  } else {
    totals_.AddFailed(*response.request->header, *response.timings,
                      FailureOf(response.status, cancelled), first_ns);
  }
}

Response& PooledRun::AddResponse(uint32_t position, bool final, Delivery* delivery) {
  Response& response = delivery->responses.emplace_back();
  response.request = requests_[position];
  response.timings = &delivery->timings;
  response.final = final;
  delivery->output_counts.push_back(0);
  if (context_->order) delivery->positions.push_back(position);
  if (final) delivery->finals++;
  return response;
}

void PooledRun::Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery) {
  Request* const request = requests_[position];
  const bool cancelled = request->cancelled.load(std::memory_order_relaxed);
  if (final) {
    End(position, Request::State::kDone);
  } else {
    Seize(position);
    delivery->open.push_back(position);
  }
  if (cancelled && !final) {
    outputs_.Drop(position, &delivery->blocks);
    return;
  }
  Response& response = AddResponse(position, final, delivery);
  NoteFirst(position, delivery->timings);
  if (cancelled) {
    response.status = context_->cancelled;
  } else if (status.ok() && request->header->streams &&
             request->header->streams[request->position].lost()) {
    response.status = context_->no_response;
    outputs_.Drop(position, &delivery->blocks);
  } else if (delivery->empty) {
    response.empty = true;
    outputs_.Drop(position, &delivery->blocks);
  } else if (status.ok()) {
    const size_t before = delivery->outputs.size();
    response.status =
        outputs_.Take(position, *request, &delivery->outputs, &delivery->blocks, &delivery->kept);
    delivery->output_counts.back() = delivery->outputs.size() - before;
    if (request->header->streams && response.status.ok()) {
      NoteSent(&response, std::span(delivery->outputs).subspan(before));
    }
    if (std::any_of(delivery->outputs.begin() + static_cast<ptrdiff_t>(before),
                    delivery->outputs.end(),
                    [](const OutputTensor& output) { return !IsPrivateHostMemory(output.kind); })) {
      delivery->uncounted.push_back(
          {static_cast<uint32_t>(delivery->responses.size() - 1), position});
      return;
    }
  } else {
    response.status = status;
    outputs_.Drop(position, &delivery->blocks);
  }
  NoteResponse(position, response, cancelled, delivery->timings);
  if (final) Count(response, cancelled, FirstOf(position));
}

bool PooledRun::PrepareAlike(Delivery* delivery) {
  if (undone_ < requests_.size() || spoke_ || context_->decoupled || keeper_) return false;
  const RequestHeader& first = *requests_[0]->header;
  const RequestHeader* header = &first;
  const uint32_t rows = first.batch_size;
  for (const Request* request : requests_) {
    if (request->cancelled.load(std::memory_order_relaxed)) return false;
    if (request->header != header) {
      header = request->header;
      if (header->batch_size != rows || header->sink != first.sink ||
          header->wanted != first.wanted) {
        return false;
      }
    }
  }
  if (!outputs_.TakeAlike(requests_, &delivery->outputs)) return false;
  header = &first;
  uint64_t sharing = 0;  // requests that have the header
  for (Request* request : requests_) {
    TRITONTS_ASSERT(request->state() == Request::State::kRunning, "a request ended twice");
    if (request->header != header) {
      totals_.AddOk(*header, std::exchange(sharing, 0), delivery->timings);
      header = request->header;
    }
    sharing++;
    request->set_state(Request::State::kDone);
  }
  totals_.AddOk(*header, sharing, delivery->timings);
  phases_.assign(requests_.size(), Phase::kDone);
  undone_ = 0;
  const size_t count = requests_.size();
  delivery->finals = count;
  delivery->alike = true;
  if (context_->order) {
    for (uint32_t i = 0; i < count; i++) delivery->positions.push_back(i);
  }
  return true;
}

void PooledRun::Send(uint32_t request, const Status& status, bool final, bool empty) {
  Lock lock(lock_);
  if (!AwaitOpen(request, &lock)) return;
  if (KeepFailure(request, status, final)) {
    const RunRef self(*this);  // it may be over when the lock is released
    lock.unlock();
    return DropOutputs(kAll);
  }
  Delivery* const delivery = TakeDeliveryFor(request);
  if (!delivery) return RespondWithoutMemory(request, status, final, &lock);
  Stamp(&delivery->timings);
  timings_ = delivery->timings;
  delivery->is_final = final;
  delivery->empty = empty;
  if (request != kAll) {
    spoke_ = context_->order != nullptr;
    Prepare(request, status, final, delivery);
  } else if (!final || !status.ok() || !PrepareAlike(delivery)) {
    spoke_ = context_->order != nullptr;
    for (uint32_t i = 0; i < requests_.size(); i++) {
      if (phases_[i] == Phase::kOpen) Prepare(i, status, final, delivery);
    }
  }
  if (request == kAll) outputs_.DropAll(&delivery->blocks);
  lock.unlock();
  if (context_->order) return DeliverInOrder(delivery);
  Deliver(delivery);
}

void PooledRun::Deliver(Delivery* delivery) {
  SetOutputs(delivery);
  Give(*delivery, 0, delivery->responses.size());
  Finish(delivery);
}

void PooledRun::SetOutputs(Delivery* delivery) {
  // The spans are set only now, because `outputs` moved in memory while it grew.
  size_t offset = 0;
  for (size_t i = 0; i < delivery->responses.size(); i++) {
    delivery->responses[i].outputs = {delivery->outputs.data() + offset,
                                      delivery->output_counts[i]};
    offset += delivery->output_counts[i];
  }
  if (!delivery->uncounted.empty()) Fetch(delivery);
  if (!delivery->kept.outputs.empty()) GiveToKeeper(delivery);
}

void PooledRun::GiveToKeeper(Delivery* delivery) {
  const KeptOutputs& kept = delivery->kept;
  for (size_t at = 0, past = 0; at < kept.slots.size(); at = past) {
    while (past < kept.slots.size() && kept.slots[past] == kept.slots[at]) past++;
    keeper_->Keep(*requests_[kept.slots[at]], kept.slots[at],
                  std::span(kept.outputs).subspan(at, past - at));
  }
}

void PooledRun::Give(const Delivery& delivery, size_t first, size_t count) {
  if (!delivery.alike) return DeliverAll(std::span(delivery.responses).subspan(first, count));
  try {
    if (!delivery.spoilt) {
      return requests_[0]->header->sink->DeliverAlike(
          {requests_, delivery.outputs, &delivery.timings});
    }
  } catch (const std::bad_alloc&) {
    // Then with errors.
  }
  Response like;
  like.status = context_->no_response;
  like.timings = &delivery.timings;
  DeliverEach(requests_, like);
}

void PooledRun::Finish(Delivery* delivery) {
  const auto finals = static_cast<uint32_t>(delivery->finals);
  delivery->Clear();
  {
    std::lock_guard lock(lock_);
    for (const uint32_t position : delivery->open) Reopen(position);
    delivery->open.clear();
    deliveries_.emplace_back(delivery);
  }
  if (finals > 0 && LetGo(finals)) Done();
}

}  // namespace tritonts

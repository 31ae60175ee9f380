// How responses of a run are made up, and reach the sinks.
#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/running/run.h"

namespace tritonts {

void PooledRun::Delivery::Clear() {
  outputs.clear();
  output_counts.clear();
  responses.clear();
  uncounted.clear();
  blocks.clear();
  copies.clear();
  finals = 0;
  alike = false;
}

void PooledRun::Delivery::Reserve(size_t most_responses, size_t most_outputs, size_t most_blocks) {
  outputs.reserve(most_outputs);
  output_counts.reserve(most_responses);
  responses.reserve(most_responses);
  uncounted.reserve(most_responses);
  open.reserve(most_responses);
  blocks.reserve(most_blocks);
}

PooledRun::Delivery* PooledRun::TakeDelivery(size_t responses, size_t outputs) {
  try {
    if (deliveries_.empty()) {
      deliveries_.reserve(deliveries_made_ + 1);
      deliveries_.push_back(std::make_unique<Delivery>());
      deliveries_made_++;
    }
    // Of each output, and of what is dropped once all have theirs.
    deliveries_.back()->Reserve(responses, outputs, outputs + outputs_.whole() + outputs_.single());
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
  if (request != kAll && request >= phases_.size()) return false;
  while (request == kAll ? delivering_ > 0 : phases_[request] == Phase::kDelivering) {
    lock->unlock();
    std::this_thread::yield();  // another thread gives a response, or asks the sink for a place
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
  timings->compute_end_ns = computed != 0 ? computed : now;
  timings->compute_start_ns =
      ready != 0 ? std::min(ready, timings->compute_end_ns) : timings->compute_end_ns;
}

void PooledRun::Count(const Response& response, bool cancelled) {
  if (response.status.ok()) {
    totals_.AddOk(*response.request, *response.timings);
  } else {
    totals_.AddFailed(*response.request, *response.timings, cancelled);
  }
}

Response& PooledRun::AddResponse(uint32_t position, bool final, Delivery* delivery) {
  Response& response = delivery->responses.emplace_back();
  response.request = requests_[position];
  response.timings = &delivery->timings;
  response.final = final;
  delivery->output_counts.push_back(0);
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
  if (cancelled) {
    response.status = context_->cancelled;
  } else if (status.ok()) {
    const size_t before = delivery->outputs.size();
    response.status = outputs_.Take(position, *request, &delivery->outputs, &delivery->blocks);
    delivery->output_counts.back() = delivery->outputs.size() - before;
    if (std::any_of(delivery->outputs.begin() + static_cast<ptrdiff_t>(before),
                    delivery->outputs.end(),
                    [](const OutputTensor& output) { return !IsHostMemory(output.kind); })) {
      delivery->uncounted.push_back(static_cast<uint32_t>(delivery->responses.size() - 1));
      return;
    }
  } else {
    response.status = status;
    outputs_.Drop(position, &delivery->blocks);
  }
  if (final) Count(response, cancelled);
}

bool PooledRun::PrepareAlike(Delivery* delivery) {
  if (undone_ < requests_.size()) return false;
  const RequestHeader* header = requests_[0]->header;
  const uint32_t rows = header->batch_size;
  ResponseSink* const sink = header->sink;
  if (!header->wanted.empty()) return false;
  uint64_t arrivals_ns = 0;
  for (const Request* request : requests_) {
    if (request->cancelled.load(std::memory_order_relaxed)) return false;
    if (request->header != header) {
      header = request->header;
      if (header->batch_size != rows || header->sink != sink || !header->wanted.empty()) {
        return false;
      }
    }
    arrivals_ns += header->arrival_ns;
  }
  if (!outputs_.TakeAlike(rows, &delivery->outputs)) return false;
  for (Request* request : requests_) {
    TRITONTS_ASSERT(request->state() == Request::State::kRunning, "a request ended twice");
    request->set_state(Request::State::kDone);
  }
  phases_.assign(requests_.size(), Phase::kDone);
  undone_ = 0;
  const size_t count = requests_.size();
  totals_.ok += count;
  totals_.ok_rows += count * rows;
  totals_.ok_ns += count * delivery->timings.exec_end_ns - arrivals_ns;
  totals_.queue_ns += count * delivery->timings.exec_start_ns - arrivals_ns;
  delivery->finals = count;
  delivery->alike = true;
  return true;
}

void PooledRun::Respond(uint32_t request, const Status& status, bool final) {
  Lock lock(lock_);
  if (!AwaitOpen(request, &lock)) return;
  Delivery* const delivery = TakeDeliveryFor(request);
  if (!delivery) return RespondWithoutMemory(request, status, final, &lock);
  Stamp(&delivery->timings);
  timings_ = delivery->timings;
  if (request != kAll) {
    Prepare(request, status, final, delivery);
  } else if (!final || !status.ok() || !PrepareAlike(delivery)) {
    for (uint32_t i = 0; i < requests_.size(); i++) {
      if (phases_[i] == Phase::kOpen) Prepare(i, status, final, delivery);
    }
  }
  if (request == kAll) outputs_.DropAll(&delivery->blocks);
  lock.unlock();
  Deliver(delivery);
}

void PooledRun::Deliver(Delivery* delivery) {
  if (delivery->alike) {
    try {
      requests_[0]->header->sink->DeliverAlike({requests_, delivery->outputs, &delivery->timings});
    } catch (const std::bad_alloc&) {
      Response like;
      like.status = context_->no_response;
      like.timings = &delivery->timings;
      DeliverEach(requests_, like);
    }
  } else {
    // Spans only now: the outputs moved while they grew.
    size_t offset = 0;
    for (size_t i = 0; i < delivery->responses.size(); i++) {
      delivery->responses[i].outputs = {delivery->outputs.data() + offset,
                                        delivery->output_counts[i]};
      offset += delivery->output_counts[i];
    }
    if (!delivery->uncounted.empty()) Fetch(delivery);
    DeliverAll(delivery->responses);
  }
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

void PooledRun::Fetch(Delivery* delivery) {
  for (const uint32_t i : delivery->uncounted) {
    Response& response = delivery->responses[i];
    const auto first = response.outputs.data() - delivery->outputs.data();
    for (size_t k = 0; k < delivery->output_counts[i] && response.status.ok(); k++) {
      OutputTensor& output = delivery->outputs[static_cast<size_t>(first) + k];
      response.status = FetchOutput(*response.request, &output, delivery);
    }
    if (!response.status.ok()) response.outputs = {};
  }
  std::lock_guard lock(lock_);
  for (const uint32_t i : delivery->uncounted) {
    if (delivery->responses[i].final) Count(delivery->responses[i], false);
  }
}

Status PooledRun::FetchOutput(const Request& request, OutputTensor* output,
                              Delivery* delivery) try {
  if (IsHostMemory(output->kind) || request.header->sink->Takes(output->kind)) return Status::Ok();
  Status status;
  BlockRef copy = pool().Acquire(output->size);
  if (copy) {
    const int device = output->block ? output->block->device() : 0;
    status = CopyBytes({const_cast<void*>(output->data), output->size, output->kind, device,
                        BlockRef::Share(output->block)},
                       {copy->data(), output->size, MemoryKind::kHost, 0, copy}, memory());
  } else {
    status = Status::Unavailable("no memory for " + std::to_string(output->size) + " bytes");
  }
  if (!status.ok()) {
    const ModelIo* io = context_->io;
    const std::string name =
        io ? "'" + io->outputs[output->index].name + "'" : std::to_string(output->index);
    return {status.code(),
            "model '" + context_->model + "', output " + name + ": " + status.message()};
  }
  delivery->copies.push_back(copy);
  output->data = copy->data();
  output->kind = MemoryKind::kHost;
  output->block = copy.get();
  return status;
} catch (const std::bad_alloc&) {
  return context_->no_response;
}

}  // namespace tritonts

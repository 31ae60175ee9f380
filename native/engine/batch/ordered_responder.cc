#include "engine/batch/ordered_responder.h"

#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace tritonts {

void OrderedResponder::Join(const RunContext* context, OrderedResponder* behind) {
  context_ = context;
  lost_.assign(members_->size(), Status());
  context->order->Join(this, members_->size(), behind);
}

void OrderedResponder::Leave() {
  context_->order->Leave(this);
}

void OrderedResponder::SkipAll(std::span<Request* const> requests) {
  uint32_t position = 0;
  for (const Request* request : requests) {
    while ((*members_)[position] != request) position++;
    context_->order->Skip(this, position);
  }
}

void OrderedResponder::Deliver(Delivery* delivery) {
  if (delivery->positions.empty()) return responder_->Finish(delivery);
  responder_->SetOutputs(delivery);
  // Responses that are kept until their turn may become errors, for lack of memory.
  const bool has_kept = !delivery->kept.outputs.empty();
  if (has_kept) {
    MakeIndependent(delivery);
    responder_->GiveToKeeper(*delivery);
  }
  // The run and its version may be gone before the order has finished.
  const std::shared_ptr<ResponseOrder> order = context_->order;
  if (order->GiveNow(this, delivery)) return;
  if (!has_kept) MakeIndependent(delivery);
  bool held = false;
  {
    std::lock_guard lock(members_->lock());
    held = order->Hold(this, delivery);
    // Later responses to these requests are queued behind this delivery. Reopen under the lock:
    // once the delivery is in the order, another thread may finish it at any time.
    for (size_t i = 0; held && i < delivery->open.size(); i++) members_->Reopen(delivery->open[i]);
    if (held) delivery->open.clear();
  }
  if (held) return order->Go();
  responder_->Give(*delivery, 0, delivery->positions.size());
  responder_->Finish(delivery);
}

void OrderedResponder::MakeIndependent(Delivery* delivery) {
  try {
    HoldOutputs(delivery);
  } catch (const std::bad_alloc&) {
    delivery->spoilt = true;
  }
  if (!delivery->spoilt) return;
  for (Response& response : delivery->responses) {
    if (response.outputs.empty()) continue;
    response.status = context_->no_response;
    response.outputs = {};
    response.parameters.reset();
  }
}

void OrderedResponder::HoldOutputs(Delivery* delivery) {
  std::vector<OutputTensor>& outputs = delivery->outputs;
  size_t dims = 0;
  for (const OutputTensor& output : outputs) dims += output.tail.size();
  delivery->shapes.reserve(dims);
  delivery->copies.reserve(delivery->copies.size() + outputs.size());
  // If all responses are alike, one output has the bytes of all requests.
  const size_t times = delivery->alike ? members_->size() : 1;
  for (OutputTensor& output : outputs) {
    const size_t first = delivery->shapes.size();
    delivery->shapes.insert(delivery->shapes.end(), output.tail.begin(), output.tail.end());
    output.tail = {delivery->shapes.data() + first, output.tail.size()};
    const size_t size = output.size * times;
    // Without a block, the output is in the backend's own memory or in the request's inputs.
    if (output.block || size == 0 || memory_->Hold(&output, size, &delivery->copies)) continue;
    delivery->spoilt = true;
    return;
  }
}

void OrderedResponder::Requeue(uint32_t position) {
  const std::shared_ptr<ResponseOrder> order = context_->order;
  // Requeue only after earlier responses reached the sink; a requeued request may be cancelled at
  // once.
  if (order->Skip(this, position)) life_->Requeue((*members_)[position]);
  order->Go();
}

void OrderedResponder::RespondWithoutMemory(uint32_t request, const Status& status,
                                            RunMembers::Lock* lock) {
  const std::shared_ptr<ResponseOrder> order = context_->order;
  lock->unlock();
  places_->Drop(request);
  for (uint32_t i = members_->First(request); i < members_->Past(request); i++) {
    lock->lock();
    const bool open = members_->open(i);
    if (open) {
      BatchTimings timings;
      clock_->Stamp(&timings);
      const bool cancelled = (*members_)[i]->cancelled.load(std::memory_order_relaxed);
      lost_[i] = cancelled ? context_->cancelled : status.ok() ? context_->no_response : status;
      members_->End(i);
      Response response;
      response.status = lost_[i];
      account_->NoteResponse(i, response, cancelled, timings);
      account_->NoteLost(i, lost_[i], cancelled, timings);
    }
    lock->unlock();
    if (open && !order->Await(this, i)) TakeTurn(i);
  }
  order->Go();
}

void OrderedResponder::Give(OrderedResponses* responses, size_t first, size_t count) {
  responder_->Give(*static_cast<Delivery*>(responses), first, count);
}

void OrderedResponder::GaveAll(OrderedResponses* responses) {
  responder_->Finish(static_cast<Delivery*>(responses));
}

void OrderedResponder::TakeTurn(uint32_t position) {
  Response response;
  BatchTimings timings;
  {
    std::lock_guard lock(members_->lock());
    response.status = std::exchange(lost_[position], Status());
    timings = clock_->last();
  }
  if (response.status.ok()) return life_->Requeue((*members_)[position]);
  response.request = (*members_)[position];
  response.timings = &timings;
  DeliverAll(std::span(&response, 1));
  life_->Drop(1);
}

void OrderedResponder::Passed() {
  life_->Drop(1);
}

}  // namespace tritonts

// How a run's responses leave in their version's order: at once, or held until it is their turn.
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "engine/batch/instance.h"
#include "engine/batch/response_order.h"
#include "engine/batch/run.h"

namespace tritonts {

void PooledRun::DeliverInOrder(Delivery* delivery) {
  if (delivery->positions.empty()) return Finish(delivery);
  SetOutputs(delivery);
  // The run, and the version with it, may be gone before the order is through.
  const std::shared_ptr<ResponseOrder> order = context_->order;
  if (order->GiveNow(this, delivery)) return;
  Keep(delivery);
  bool held = false;
  {
    Lock lock(lock_);
    held = order->Hold(this, delivery);
    // What comes next to these requests is held behind it. Under the lock: once it may be given,
    // another thread is through with the delivery at any time.
    for (size_t i = 0; held && i < delivery->open.size(); i++) Reopen(delivery->open[i]);
    if (held) delivery->open.clear();
  }
  if (held) return order->Go();
  Give(*delivery, 0, delivery->positions.size());
  Finish(delivery);
}

void PooledRun::Keep(Delivery* delivery) {
  try {
    KeepOutputs(delivery);
  } catch (const std::bad_alloc&) {
    delivery->spoilt = true;
  }
  if (!delivery->spoilt) return;
  for (Response& response : delivery->responses) {
    if (response.outputs.empty()) continue;
    response.status = context_->no_response;
    response.outputs = {};
  }
}

void PooledRun::KeepOutputs(Delivery* delivery) {
  std::vector<OutputTensor>& outputs = delivery->outputs;
  size_t dims = 0;
  for (const OutputTensor& output : outputs) dims += output.tail.size();
  delivery->shapes.reserve(dims);
  delivery->copies.reserve(delivery->copies.size() + outputs.size());
  // Where all are alike, an output has the bytes of all requests.
  const size_t times = delivery->alike ? requests_.size() : 1;
  for (OutputTensor& output : outputs) {
    const size_t first = delivery->shapes.size();
    delivery->shapes.insert(delivery->shapes.end(), output.tail.begin(), output.tail.end());
    output.tail = {delivery->shapes.data() + first, output.tail.size()};
    const size_t size = output.size * times;
    if (output.block || size == 0) continue;
    // Its own memory, or that of the request's inputs.
    auto copy = Allocate(size, output.kind);
    const Buffer from{const_cast<void*>(output.data), size, output.kind, runner_->device, {}};
    if (!copy.ok() || !CopyBytes(from, copy.value(), memory()).ok()) {
      delivery->spoilt = true;
      return;
    }
    Buffer kept = copy.take();
    output.data = kept.data;
    output.kind = kept.kind;
    output.block = kept.owner.get();
    delivery->copies.push_back(std::move(kept.owner));
  }
}

void PooledRun::RespondInOrderWithoutMemory(uint32_t request, const Status& status, Lock* lock) {
  const RunRef self(*this);
  const std::shared_ptr<ResponseOrder> order = context_->order;
  lock->unlock();
  DropOutputs(request);
  const uint32_t first = request == kAll ? 0 : request;
  const uint32_t past = request == kAll ? static_cast<uint32_t>(requests_.size()) : request + 1;
  for (uint32_t i = first; i < past; i++) {
    lock->lock();
    const bool open = phases_[i] == Phase::kOpen;
    if (open) {
      Stamp(&timings_);
      const bool cancelled = requests_[i]->cancelled.load(std::memory_order_relaxed);
      lost_[i] = cancelled ? context_->cancelled : status.ok() ? context_->no_response : status;
      End(i, Request::State::kDone);
      Response response;
      response.status = lost_[i];
      NoteResponse(i, response, cancelled, timings_);
      totals_.AddFailed(*requests_[i]->header, timings_, FailureOf(lost_[i], cancelled));
    }
    lock->unlock();
    if (open && !order->Await(this, i)) TakeTurn(i);
  }
  order->Go();
}

void PooledRun::Give(OrderedResponses* responses, size_t first, size_t count) {
  Give(*static_cast<Delivery*>(responses), first, count);
}

void PooledRun::GaveAll(OrderedResponses* responses) {
  Finish(static_cast<Delivery*>(responses));
}

void PooledRun::TakeTurn(uint32_t position) {
  Response response;
  BatchTimings timings;
  {
    std::lock_guard lock(lock_);
    response.status = std::exchange(lost_[position], Status());
    timings = timings_;
  }
  if (response.status.ok()) return Requeue(position);
  response.request = requests_[position];
  response.timings = &timings;
  DeliverAll(std::span(&response, 1));
  if (LetGo(1)) Done();
}

void PooledRun::Passed() {
  if (LetGo(1)) Done();
}

}  // namespace tritonts

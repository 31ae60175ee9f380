// How a port submits requests: they are parsed (groups.cc), charged and handed to the versions.
#include <array>
#include <new>
#include <string>
#include <utility>

#include "engine/base/clock.h"
#include "engine/port/port.h"
#include "engine/request/call_graph.h"
#include "engine/request/executor.h"
#include "engine/server/server.h"

namespace tritonts {

namespace {

constexpr size_t kFew = 64;  // how many requests are refused with one delivery

}  // namespace

Block* Port::StageInput(size_t size, uint32_t uid, uint32_t* id) {
  CheckThread();
  const auto known = executors_.find(uid);
  const std::shared_ptr<Executor> executor =
      known != executors_.end() ? known->second : server_->FindExecutor(uid);
  return inputs_.Stage(size, id, uid, executor ? executor->InputBlock(size) : BlockRef());
}

void Port::DropTick() {
  for (size_t i = 0; i < tick_count_; i++) {
    for (Request* request : ticks_[i].requests) {
      request->header->ClearInputs();
      request->set_state(Request::State::kIdle);
      slots_.NoteTaken(request->header->slot, 1);
    }
    ticks_[i].executor.reset();
  }
  for (const TickBlock& block : tick_blocks_) inputs_.PutBack(block.id);
}

void Port::ReleaseBlocks() {
  for (const TickBlock& block : tick_blocks_) {
    if (block.request->unserved) {
      inputs_.PutBack(block.id);
    } else {
      inputs_.Unstage(block.id);
    }
  }
}

void Port::Refuse(std::span<Request* const> requests, const Response& like) {
  for (Request* request : requests) request->set_state(Request::State::kDone);
  DeliverEach(requests, like);
}

void Port::RefuseGone() {
  for (size_t i = 0; i < tick_count_; i++) {
    if (ticks_[i].executor) continue;
    Response like;
    like.unserved = true;
    try {
      like.status = Status::Unavailable(Reason::kNotReady, "the model's version was unloaded");
    } catch (const std::bad_alloc&) {
      like.status = no_memory_;
    }
    Refuse(ticks_[i].requests, like);
    ticks_[i].requests.clear();
  }
}

Status Port::BeyondLimit(const Executor& executor, uint64_t bytes) const {
  try {
    const std::string model = "model '" + executor.name() + "': ";
    const std::string sizes = std::to_string(bytes) +
                              " bytes of inputs and outputs; maxInFlightBytes is " +
                              std::to_string(budget_.limit());
    if (bytes > budget_.limit()) return Status::InvalidArg(model + "one request needs " + sizes);
    return Status::Unavailable(Reason::kTooMuchInFlight,
                               model + "too much in flight for one more request of " + sizes);
  } catch (const std::bad_alloc&) {
    return no_memory_;
  }
}

void Port::ChargeEach(Tick* tick) {
  std::vector<Request*>& requests = tick->requests;
  size_t kept = 0;
  // Neighbours with equal charges are refused together.
  std::array<Request*, kFew> refused;
  size_t count = 0;
  Response like;
  uint64_t said = 0;  // the charge that `like` is made for
  const auto refuse = [&] { Refuse(std::span(refused).first(std::exchange(count, 0)), like); };
  for (Request* request : requests) {
    const uint64_t bytes = request->header->accounted_bytes;
    if (budget_.Reserve(bytes)) {
      requests[kept++] = request;
      continue;
    }
    if (count == kFew || (count > 0 && bytes != said)) refuse();
    if (bytes != said) like.status = BeyondLimit(*tick->executor, bytes);
    said = bytes;
    like.limited = bytes <= budget_.limit();
    request->charged = false;
    refused[count++] = request;
  }
  refuse();
  requests.resize(kept);
}

void Port::Charge() {
  uint64_t bytes = 0;
  for (size_t i = 0; i < tick_count_; i++) bytes = SumBytes(bytes, ticks_[i].bytes);
  if (budget_.Reserve(bytes)) return;
  // They do not all fit. So as many as fit are taken, in order.
  for (size_t i = 0; i < tick_count_; i++) ChargeEach(&ticks_[i]);
}

void Port::AdmitCalls(Tick* tick) {
  std::vector<Request*>& requests = tick->requests;
  size_t kept = 0;
  for (size_t at = 0; at < requests.size();) {
    RequestHeader& header = *requests[at]->header;
    size_t count = 1;
    while (at + count < requests.size() && requests[at + count]->header == &header) count++;
    Response like;
    try {
      if (header.call) {
        like.status = header.call->Admit(tick->executor->call_places(),
                                         std::span(requests).subspan(at, count));
      }
    } catch (const std::bad_alloc&) {
      like.status = no_memory_;
    }
    if (like.status.ok()) {
      for (size_t i = 0; i < count; i++) requests[kept++] = requests[at + i];
    } else {
      Refuse(std::span(requests).subspan(at, count), like);
    }
    at += count;
  }
  requests.resize(kept);
}

Status Port::Submit(const int32_t* words, size_t count, const char* const* slab_sources, bool run,
                    bool* responded) {
  CheckThread();
  const uint64_t now = NowNs();
  flushes_++;
  tick_count_ = 0;
  tick_blocks_.clear();
  Status status;
  try {
    status = Parse(SubmissionReader(words, count), slab_sources, now);
  } catch (const std::bad_alloc&) {
    status = no_memory_;
  }
  if (!status.ok()) {
    DropTick();
    return status;
  }
  uint64_t accepted = 0;
  for (size_t i = 0; i < tick_count_; i++) accepted += ticks_[i].requests.size();
  if (!self_) {
    // Nothing is in flight yet, so no other thread touches these.
    self_ = shared_from_this();
    references_ = 1;
  }
  references_.fetch_add(accepted, std::memory_order_relaxed);
  untaken_ += accepted;
  running_here_ = run;
  responded_here_ = false;
  RefuseGone();
  Charge();
  inline_tick_.spent_ns = 0;
  for (size_t i = 0; i < tick_count_; i++) {
    Tick& tick = ticks_[i];
    if (tick.has_calls) AdmitCalls(&tick);
    if (!tick.requests.empty()) {
      tick.executor->Submit(tick.requests, now, run ? &inline_tick_ : nullptr);
    }
    tick.executor.reset();
  }
  ReleaseBlocks();
  running_here_ = false;
  if (!waker_.waits()) waker_.BeginWait(untaken_ > 0 ? now : 0);
  if (responded) *responded = responded_here_;
  return Status::Ok();
}

}  // namespace tritonts

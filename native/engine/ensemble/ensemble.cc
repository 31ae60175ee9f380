// Accepts and cancels an ensemble's requests, and takes the responses of their steps.
#include "engine/ensemble/ensemble.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "engine/base/abandon.h"
#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/rules.h"
#include "engine/ensemble/relay.h"
#include "engine/request/admission.h"
#include "engine/version/inline_time.h"

namespace tritonts {

namespace {

constexpr size_t kIdleTensorBytes = size_t{8} << 20;

// How many requests, from the first on, are neighbours in one header.
size_t NeighboursIn(std::span<Request* const> requests) {
  const Request& first = *requests.front();
  size_t count = 1;
  while (count < requests.size() && requests[count]->header == first.header &&
         requests[count]->position == first.position + count) {
    count++;
  }
  return count;
}

}  // namespace

Ensemble::Ensemble(uint32_t uid, std::string name, EnsemblePlan plan,
                   std::function<void()> on_drained)
    : Served(std::move(on_drained)),
      uid_(uid),
      name_(std::move(name)),
      plan_(std::move(plan)),
      graph_(plan_),
      decoupled_(plan_.decoupled()),
      unloaded_(Status::Unavailable(Reason::kNotReady, "model '" + name_ + "': is being unloaded")),
      exits_(Status::Unavailable(Reason::kClosed, "model '" + name_ + "': the process is exiting")),
      cancelled_(Status::Cancelled("model '" + name_ + "': the request was cancelled")),
      no_memory_(Status::Unavailable(Reason::kNoMemory,
                                     "model '" + name_ + "': no memory for the request")),
      pool_(kIdleTensorBytes),
      turns_(plan_.steps.size()),
      latencies_(plan_.latencies),
      refusal_(unloaded_) {}

Ensemble::~Ensemble() {
  EndLayers();
  TRITONTS_ASSERT(in_flight_ == 0, "an ensemble was freed with requests in flight");
}

uint64_t Ensemble::KnownOutputBytes(uint64_t rows) const {
  std::shared_ptr<const EnsembleBindings> bindings;
  {
    std::lock_guard lock(mutex_);
    bindings = bindings_;
  }
  return bindings ? bindings->KnownOutputBytes(rows) : 0;
}

void Ensemble::SetQueueKeys(RequestHeader* header) const {
  header->level = header->deadline_ns = 0;
  header->shape_key.clear();
}

Flight* Ensemble::TakeFlight(std::span<Request* const> requests,
                             const std::shared_ptr<const EnsembleBindings>& bindings) {
  Flight* flight = nullptr;
  uint64_t number = 0;
  try {
    {
      std::lock_guard lock(mutex_);
      if (!free_) {
        flights_.reserve(flights_.size() + 1);
        flights_.push_back(std::make_unique<Flight>(this, static_cast<uint32_t>(flights_.size())));
        free_ = flights_.back().get();
        free_->next = nullptr;
      }
      flight = std::exchange(free_, free_->next);
      number = ++begun_;
    }
    flight->root = flight;
    flight->Reserve(requests.size());
    flight->Begin(requests, bindings, number);
  } catch (const std::bad_alloc&) {
    if (flight) {
      flight->Reset();
      std::lock_guard lock(mutex_);
      flight->next = std::exchange(free_, flight);
    }
    return nullptr;
  }
  for (Request* request : requests) request->set_state(Request::State::kQueued);
  std::lock_guard lock(mutex_);
  flight->idle = false;
  for (Request* request : requests) {
    request->flight = flight->index();
    request->queued = true;
  }
  return flight;
}

void Ensemble::Accept(std::span<Request* const> requests, uint64_t,
                      InlineTime* inline_time) noexcept {
  Response none;
  std::shared_ptr<const EnsembleBindings> bindings;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || !bindings_) {
      none.unserved = true;
      none.status = closed_ ? refusal_ : unloaded_;
    } else if (!aborted_.ok() || Exiting()) {
      none.status = aborted_.ok() ? exits_ : aborted_;
      statistics_.refused += requests.size();
    } else {
      bindings = bindings_;
      in_flight_ += requests.size();
    }
  }
  if (!bindings) return Refuse(requests, none);
  Relay relay(inline_time);
  while (!requests.empty()) {
    size_t count = NeighboursIn(requests);
    count = std::min<size_t>(count, bindings->Together(requests.front()->header->batch_size));
    if (plan_.max_inflight > 0) count = std::min<size_t>(count, plan_.max_inflight);
    const auto some = requests.first(count);
    requests = requests.subspan(count);
    if (Flight* flight = TakeFlight(some, bindings)) {
      flight->Start();
      continue;
    }
    Response starved;
    starved.status = no_memory_;
    Refuse(some, starved);
    std::lock_guard lock(mutex_);
    statistics_.fail.Add(count, 0);
    in_flight_ -= count;
  }
}

void Ensemble::CancelAccepted(std::span<Request* const> requests) noexcept {
  const std::shared_ptr<Ensemble> self = shared_from_this();
  Relay relay;
  for (Request* request : requests) {
    Flight* flight = nullptr;
    uint32_t position = 0;
    std::shared_ptr<const EnsembleBindings> bindings;
    {
      std::lock_guard lock(mutex_);
      request->cancelled.store(true, std::memory_order_release);
      if (!request->queued || request->header->executor != this) continue;
      flight = flights_[request->flight].get();
      while (position < flight->count() && flight->request(position) != request) position++;
      if (position == flight->count()) continue;
      flight->pins++;
      pinned_++;
      // Share the bindings, because a flight that lands meanwhile drops its own.
      bindings = flight->bindings();
    }
    if (decoupled_)
      CancelTree(flight, *bindings);
    else
      flight->Cancel(position, *bindings);
    Unpin(flight);
  }
}

void Ensemble::Unpin(Flight* flight) {
  bool drained = false;
  {
    std::lock_guard lock(mutex_);
    pinned_--;
    if (--flight->pins == 0 && flight->idle) flight->next = std::exchange(free_, flight);
    drained = closed_ && DrainedLocked();
  }
  if (drained) on_drained_();
}

void Ensemble::Return(Flight* flight, uint32_t requests, bool keep) {
  bool drained = false;
  if (keep) tritonts::Abandon(shared_from_this());
  {
    std::lock_guard lock(mutex_);
    flight->idle = true;
    if (keep) {
      flight->pins++;  // so that it never returns to the pool
    } else if (flight->pins == 0) {
      flight->next = std::exchange(free_, flight);
    }
    TRITONTS_ASSERT(in_flight_ >= requests, "an ensemble answered more requests than it took");
    in_flight_ -= requests;
    drained = closed_ && DrainedLocked();
  }
  if (drained) on_drained_();
}

bool Ensemble::Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const {
  if (IsHostMemory(kind)) return IsPrivateHostMemory(kind);
  const FlightStep& step = *static_cast<const StepHeader*>(request.header)->step;
  return step.flight->Takes(step, output, kind, device);
}

void Ensemble::Deliver(std::span<const Response> responses) {
  Relay relay(InlineTime::OfInstance());
  for (const Response& response : responses) {
    FlightStep* const step = static_cast<StepHeader*>(response.request->header)->step;
    step->flight->Take(step, response);
    if (!response.final) continue;
    if (!response.abandoned) response.request->set_state(Request::State::kIdle);
    step->flight->Answered(step, 1);
  }
}

void Ensemble::DeliverAlike(const AlikeResponses& alike) {
  Relay relay(InlineTime::OfInstance());
  std::array<OutputTensor, 16> few;
  std::vector<OutputTensor> many;
  std::span<OutputTensor> outputs = few;
  if (alike.outputs.size() > few.size()) {
    many.resize(alike.outputs.size());  // may throw, because no response was taken yet
    outputs = many;
  }
  outputs = outputs.first(alike.outputs.size());
  for (size_t i = 0; i < alike.requests.size();) {
    Request* const request = alike.requests[i];
    FlightStep* const step = static_cast<StepHeader*>(request->header)->step;
    Flight* const flight = step->flight;
    if (flight->IsWhole(*step, alike, i)) {
      const uint32_t count = flight->count();
      flight->TakeAlike(step, alike, i);
      for (Request* one : alike.requests.subspan(i, count)) {
        one->set_state(Request::State::kIdle);
      }
      flight->Answered(step, count);
      i += count;
      continue;
    }
    std::copy(alike.outputs.begin(), alike.outputs.end(), outputs.begin());
    for (OutputTensor& output : outputs) {
      output.data = static_cast<const char*>(output.data) + i * output.size;
    }
    Response response;
    response.request = request;
    response.outputs = outputs;
    response.timings = alike.timings;
    flight->Take(step, response);
    request->set_state(Request::State::kIdle);
    flight->Answered(step, 1);
    i++;
  }
}

}  // namespace tritonts

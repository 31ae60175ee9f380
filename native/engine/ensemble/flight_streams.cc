// Children, the flights of decoupled steps' responses (flight.h): begins them, and lets them
// respond in order.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/flight.h"
#include "engine/ensemble/relay.h"
#include "engine/request/response_parameters.h"

namespace tritonts {

namespace {

// Children wait once the caller has kMostUnread unread responses, and go on at kFewUnread.
constexpr uint32_t kMostUnread = 16;
constexpr uint32_t kFewUnread = 8;

// Lets a root go on when its caller has read. It may be called after the root has ended.
class StepReader final : public ReadListener {
 public:
  StepReader(std::shared_ptr<Ensemble> ensemble, Flight* flight)
      : ensemble_(std::move(ensemble)), flight_(flight), number_(flight->number()) {}
  void OnRead() override { ensemble_->Resume(flight_, number_); }

 private:
  const std::shared_ptr<Ensemble> ensemble_;
  Flight* const flight_;
  const uint64_t number_;
};

}  // namespace

Flight* Ensemble::TakeChild(FlightStep* from, const Response& response) {
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
    flight->Reserve(1);
  } catch (const std::bad_alloc&) {
    if (flight) {
      std::lock_guard lock(mutex_);
      flight->next = std::exchange(free_, flight);
    }
    return nullptr;
  }
  flight->root = from->flight->root;
  flight->BeginChild(from, response, number);
  std::lock_guard lock(mutex_);
  flight->idle = false;
  return flight;
}

void Ensemble::CancelTree(const Flight* root, const EnsembleBindings& bindings) {
  for (size_t i = 0;; i++) {
    Flight* flight = nullptr;
    {
      std::lock_guard lock(mutex_);
      while (i < flights_.size() && (flights_[i]->idle || flights_[i]->root != root)) i++;
      if (i >= flights_.size()) return;
      flight = flights_[i].get();
      flight->pins++;
      pinned_++;
    }
    flight->Cancel(0, bindings);
    Unpin(flight);
  }
}

void Ensemble::Resume(Flight* flight, uint64_t number) {
  Relay relay;
  {
    std::lock_guard lock(mutex_);
    if (flight->idle || flight->number() != number) return;
    flight->pins++;
    pinned_++;
  }
  flight->RespondInOrder();
  Unpin(flight);
}

void Flight::BeginChild(FlightStep* from, const Response& response, uint64_t number) noexcept {
  Flight* const parent = from->flight;
  from_ = from;
  region_ = from->number;
  counted_ = response.counted;
  count_ = 1;
  outer_.assign(1, root->outer_[0]);
  Outcome& outcome = outcomes_[0];
  outcome.failed.store(false, std::memory_order_relaxed);
  outcome.status = Status();
  outcome.limited = outcome.in_step = false;
  outcome.ClearTimes();
  sibling_ = nullptr;
  landed_ = false;
  bindings_ = parent->bindings_;
  header_ = parent->header_;
  number_ = number;
  Choose(*header_);
  try {
    // The step keeps the carried tensors until its children have responded.
    for (const uint32_t tensor : ensemble_->graph().carried[region_]) {
      tensors_[tensor].all = parent->tensors_[tensor].all;
      tensors_[tensor].shared.store(true, std::memory_order_relaxed);
      parent->tensors_[tensor].shared.store(true, std::memory_order_relaxed);
    }
    TakeOutput(from, response);
  } catch (const std::bad_alloc&) {
    FailOne(0, ensemble_->no_memory(), false, true);
  }
}

void Flight::TakeOutput(FlightStep* from, const Response& response) {
  const EnsembleStep& plan = ensemble_->plan().steps[from->number];
  const EnsembleBindings::Step& binding = bindings_->steps()[from->number];
  if (response.timings) AddTimes(0, *response.request->header, *response.timings);
  StatusOr<NamedSequence> sequence = SequenceOf(*from, response);
  if (!sequence.ok()) return FailOne(0, sequence.status(), false, true);
  for (const OutputTensor& output : response.outputs) {
    const int32_t mapping = binding.mapping_of[output.index];
    if (mapping < 0) continue;
    auto kept = from->flight->ShareOrCopy(*from, output, output.size);
    Status status = kept.status();
    Tensor& tensor = tensors_[plan.outputs[static_cast<size_t>(mapping)].tensor];
    if (status.ok()) status = Put(*from, output, kept.take(), &tensor, &tensor.all);
    if (!status.ok()) return FailOne(0, status, false, true);
    tensor.all.sequence = sequence.value();
  }
}

void Flight::TakeOfMany(FlightStep* step, const Response& response) {
  const auto fail = [&](const Status& status, bool limited) {
    if (!step->failure.ok()) return;
    step->failure = status;
    step->limited = limited;
  };
  Flight* child = nullptr;
  if (!response.status.ok()) {
    fail(response.status, response.limited);
  } else if (!response.empty && !Dead(0) && step->failure.ok()) {
    child = ensemble_->TakeChild(step, response);
    if (!child) fail(ensemble_->no_memory(), false);
  }
  if (child) {
    step->unanswered.fetch_add(1, std::memory_order_relaxed);
    {
      std::lock_guard lock(root->tree_lock_);
      (step->last_child ? step->last_child->sibling_ : step->first_child) = child;
      step->last_child = child;
    }
    child->Start();
  } else if (response.counted > 0) {
    step->stream.NoteRead(1, response.counted);
  }
  if (response.final || (step->failure.ok() && !Dead(0))) return;
  // Further responses would be dropped, so cancel the step.
  Request* const request = response.request;
  bindings_->steps()[step->number].version->Cancel({&request, 1});
  step->stream.Wake();
}

void Flight::LandChild() {
  {
    std::lock_guard lock(root->tree_lock_);
    landed_ = true;
  }
  root->RespondInOrder();
}

Flight* Flight::NextToRespond() {
  for (size_t i = 0; i < ensemble_->plan().steps.size(); i++) {
    Flight* const first = steps_[i].first_child;
    if (!first) continue;
    if (first->landed_) return first;
    if (Flight* const found = first->NextToRespond()) return found;
  }
  return nullptr;
}

void Flight::RespondInOrder() {
  // This thread counts as a step, so that the flight does not land meanwhile.
  uint32_t steps = under_way_.load(std::memory_order_acquire);
  do {
    if (steps == 0) return;
  } while (!under_way_.compare_exchange_weak(steps, steps + 1, std::memory_order_acq_rel));
  std::unique_lock lock(tree_lock_);
  if (responding_) {
    again_ = true;
  } else {
    responding_ = true;
    for (;;) {
      again_ = false;
      Flight* const child = NextToRespond();
      if (!child) break;
      lock.unlock();
      const bool responded = child->Respond();
      lock.lock();
      if (!responded && again_) continue;
      if (!responded) break;
      FlightStep* const from = child->from_;
      from->first_child = child->sibling_;
      if (!from->first_child) from->last_child = nullptr;
      lock.unlock();
      const uint64_t counted = child->counted_;
      const bool keep = child->abandoned_.load(std::memory_order_relaxed);
      if (!keep) child->Reset();
      ensemble_->Return(child, 0, keep);
      if (counted > 0) from->stream.NoteRead(1, counted);
      from->flight->Answered(from, 1);
      lock.lock();
    }
    responding_ = false;
  }
  lock.unlock();
  Land();
}

void Flight::FailRoot(const Status& status, bool limited, bool in_step) {
  root->FailOne(0, status, limited, in_step);
  const std::shared_ptr<const EnsembleBindings> bindings = bindings_;
  ensemble_->CancelTree(root, *bindings);
}

bool Flight::HasReader() {
  if (!header_->streams) return true;
  StreamCount& stream = header_->streams[outer_[0]->position];
  std::shared_ptr<ReadListener> reader;
  while (!outer_[0]->cancelled.load(std::memory_order_acquire)) {
    const Unread unread = stream.Ask(1);
    if (!unread.full && unread.responses < kMostUnread) return true;
    if (!reader) reader = std::make_shared<StepReader>(ensemble_->shared_from_this(), root);
    const uint32_t few = unread.full ? unread.responses - 1 : kFewUnread;
    if (stream.Await(std::min(few, kFewUnread), reader, outer_[0]->cancelled)) return false;
  }
  return true;
}

bool Flight::Respond() {
  const Outcome& outcome = outcomes_[0];
  if (outcome.failed.load(std::memory_order_acquire)) {
    if (!root->Dead(0)) FailRoot(outcome.status, outcome.limited, outcome.in_step);
    return true;
  }
  if (!responds_ || Dead(0)) return true;
  try {
    if (!HasReader()) return false;
  } catch (const std::bad_alloc&) {
    FailRoot(ensemble_->no_memory(), false, false);
    return true;
  }
  if (Dead(0)) return true;
  StreamCount* const stream = header_->streams ? &header_->streams[outer_[0]->position] : nullptr;
  if (stream && stream->lost()) {
    FailRoot(ensemble_->no_memory(), false, false);
    return true;
  }
  const EnsemblePlan& plan = ensemble_->plan();
  AddSharedTimes();
  AdaptOutputs();
  const BatchTimings timings = TimingsOf(0);
  Response response;
  response.request = outer_[0];
  response.timings = &timings;
  response.final = false;
  response.counted = stream ? StreamCount::kResponseBytes : 0;
  outputs_.clear();
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    const Tensor& tensor = tensors_[plan.outputs[i]];
    const Part& part = tensor.all;
    if (!header_->Wants(i) || !part.present || part.chunks.size() != 1) continue;
    const Buffer& chunk = part.chunks[0];
    // The caller may write to memory that it gets with an owner. Other responses, and steps under
    // way, may read a shared tensor, so the sink copies it.
    Block* const owner =
        tensor.shared.load(std::memory_order_relaxed) ? nullptr : chunk.owner.get();
    outputs_.push_back({i, part.datatype, -1, std::span(part.shape.begin(), part.shape.end()),
                        chunk.data, chunk.size, chunk.kind, owner});
    if (stream) response.counted += chunk.size;
  }
  response.outputs = outputs_;
  try {
    response.parameters = ParametersOf(0);
  } catch (const std::bad_alloc&) {
    FailRoot(ensemble_->no_memory(), false, false);
    return true;
  }
  if (stream) response.counted += ParameterBytes(response.parameters);
  if (root->first_ns_ == 0) root->first_ns_ = NowNs();
  if (stream) stream->NoteSent(response.counted);
  header_->sink->Deliver({&response, 1});
  return true;
}

}  // namespace tritonts

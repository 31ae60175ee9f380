// Begins a flight: chooses the steps that it needs, and takes the inputs.
#include <utility>

#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/flight.h"

namespace tritonts {

Flight::Flight(Ensemble* ensemble, uint32_t index) : ensemble_(ensemble), index_(index) {
  const EnsemblePlan& plan = ensemble->plan();
  tensors_ = std::make_unique<Tensor[]>(plan.tensors);
  steps_ = std::make_unique<FlightStep[]>(plan.steps.size());
  outputs_.reserve(plan.outputs.size());
  for (uint32_t i = 0; i < plan.steps.size(); i++) {
    steps_[i].flight = this;
    steps_[i].number = i;
    steps_[i].header.step = &steps_[i];
  }
}

void Flight::Tensor::Clear() {
  all.Clear();
  shared.store(false, std::memory_order_relaxed);
  if (touched.exchange(false, std::memory_order_relaxed)) {
    for (Part& part : parts) part.Clear();
  }
  apart = false;
}

void Flight::Reset() {
  for (uint32_t i = 0; i < ensemble_->plan().tensors; i++) tensors_[i].Clear();
  for (size_t i = 0; i < ensemble_->plan().steps.size(); i++) {
    steps_[i].header.ClearInputs();
    steps_[i].header.call.reset();
    // The caller's parameters may be large, and a flight that waits for its next request has none.
    steps_[i].header.parameters.clear();
    for (const auto& header : steps_[i].headers) {
      header->call.reset();
      header->parameters.clear();
    }
  }
  bindings_.reset();
}

void Flight::Reserve(size_t requests) {
  if (requests <= capacity_) return;
  outer_.reserve(requests);
  parts_.reserve(requests);
  outcomes_ = std::make_unique<Outcome[]>(requests);
  for (size_t i = 0; i < ensemble_->plan().steps.size(); i++) {
    steps_[i].requests = std::make_unique<Request[]>(requests);
  }
  capacity_ = static_cast<uint32_t>(requests);
}

void Flight::Choose(const RequestHeader& header) {
  const EnsemblePlan& plan = ensemble_->plan();
  const EnsembleGraph& graph = ensemble_->graph();
  for (size_t i = 0; i < plan.steps.size(); i++) steps_[i].needed = header.wanted.empty();
  for (uint32_t i = 0; i < plan.tensors; i++) {
    tensors_[i].unread.store(0, std::memory_order_relaxed);
    tensors_[i].producer.store(kNone, std::memory_order_relaxed);
  }
  // Walk back from the wanted outputs to the steps that they need.
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    if (header.Wants(i)) tensors_[plan.outputs[i]].unread.store(1, std::memory_order_relaxed);
  }
  for (bool more = !header.wanted.empty(); more;) {
    more = false;
    for (uint32_t i = 0; i < plan.steps.size(); i++) {
      if (steps_[i].needed) continue;
      for (const auto& mapping : plan.steps[i].outputs) {
        bool read = tensors_[mapping.tensor].unread.load(std::memory_order_relaxed) > 0;
        for (const uint32_t reader : graph.readers[mapping.tensor]) {
          read = read || steps_[reader].needed;
        }
        if (read) steps_[i].needed = more = true;
      }
    }
  }
  // A flight runs the steps of its region, and responds if the outputs come from there.
  uint32_t origin = EnsembleGraph::kRoot;
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    const uint32_t of = graph.origin[plan.outputs[i]];
    if (header.Wants(i) && of != EnsembleGraph::kRoot) origin = of;
  }
  responds_ = origin == region_;
  for (uint32_t i = 0; i < plan.steps.size(); i++) {
    if (graph.region[i] != region_) steps_[i].needed = false;
  }
  for (uint32_t i = 0; i < plan.steps.size(); i++) {
    FlightStep& step = steps_[i];
    step.next = nullptr;
    step.apart.store(false, std::memory_order_relaxed);
    step.times = {};
    step.sent = false;
    step.admitted = 0;
    const auto inputs = static_cast<uint32_t>(graph.inputs[i].size());
    step.unsettled.store(inputs, std::memory_order_relaxed);
    if (!step.needed) continue;
    for (const uint32_t input : graph.inputs[i]) {
      tensors_[input].unread.fetch_add(1, std::memory_order_relaxed);
    }
  }
  for (uint32_t i = 0; i < plan.tensors; i++) {
    uint32_t producers = 0;
    for (const uint32_t step : graph.producers[i]) producers += steps_[step].needed ? 1 : 0;
    tensors_[i].unproduced.store(producers, std::memory_order_relaxed);
  }
}

void Flight::Begin(std::span<Request* const> requests,
                   std::shared_ptr<const EnsembleBindings> bindings, uint64_t number) {
  const RequestHeader& header = *requests.front()->header;
  count_ = static_cast<uint32_t>(requests.size());
  outer_.assign(requests.begin(), requests.end());
  for (uint32_t i = 0; i < count_; i++) {
    Outcome& outcome = outcomes_[i];
    outcome.failed.store(false, std::memory_order_relaxed);
    outcome.status = Status();
    outcome.limited = outcome.in_step = false;
    outcome.ClearTimes();
  }
  from_ = nullptr;
  first_ns_ = 0;
  region_ = EnsembleGraph::kRoot;
  Choose(header);
  for (const InputTensor& input : header.inputs()) {
    Part& part = tensors_[input.index].all;
    part.present = true;
    part.datatype = input.datatype;
    part.shape = input.shape;
    for (const Buffer& chunk : input.first_chunks) {
      part.chunks.push_back(
          {static_cast<char*>(chunk.data) + requests.front()->position * chunk.size, chunk.size,
           chunk.kind, chunk.device, chunk.owner});
    }
  }
  bindings_ = std::move(bindings);
  header_ = &header;
  number_ = number;
}

void Flight::Start() {
  // The initial 1 keeps the flight until all inputs are settled.
  under_way_.store(1, std::memory_order_relaxed);
  const EnsemblePlan& plan = ensemble_->plan();
  if (from_) {
    for (const uint32_t tensor : ensemble_->graph().carried[region_]) Settle(tensor);
    for (const auto& mapping : plan.steps[region_].outputs) Settle(mapping.tensor);
  } else {
    for (uint32_t i = 0; i < plan.io.inputs.size(); i++) Settle(i);
  }
  Land();
}

}  // namespace tritonts

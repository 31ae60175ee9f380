// Prepares the requests of a flight's steps, fails and cancels them. relay.cc submits them.
#include "engine/ensemble/flight.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/rules.h"
#include "engine/ensemble/ensemble.h"
#include "engine/request/request_builder.h"
#include "engine/version/check_request.h"
#include "engine/version/shapes.h"

namespace tritonts {

uint32_t Flight::Alive() const {
  uint32_t alive = 0;
  for (uint32_t i = 0; i < count_; i++) alive += Dead(i) ? 0 : 1;
  return alive;
}

bool Flight::AnyAlive() const {
  for (uint32_t i = 0; i < count_; i++) {
    if (!Dead(i)) return true;
  }
  return false;
}

bool Flight::ReadsAlone(const FlightStep& step, uint32_t tensor) const {
  const Tensor& one = tensors_[tensor];
  // The acquire load makes the finished step's writes visible.
  if (one.unread.load(std::memory_order_acquire) != 1) return false;
  if (one.shared.load(std::memory_order_relaxed)) return false;
  if (std::ranges::count(ensemble_->graph().carried[step.number], tensor) > 0) return false;
  const auto& inputs = ensemble_->plan().steps[step.number].inputs;
  return std::ranges::count(inputs, tensor, &EnsembleStep::Mapping::tensor) == 1;
}

bool Flight::Takes(const FlightStep& step, uint32_t output, MemoryKind kind, int device) const {
  const EnsemblePlan& plan = ensemble_->plan();
  const int32_t mapping = bindings_->steps()[step.number].mapping_of[output];
  // In a decoupled ensemble, readers of the tensor may be in other flights.
  if (mapping < 0 || ensemble_->decoupled()) return false;
  const uint32_t tensor = plan.steps[step.number].outputs[static_cast<size_t>(mapping)].tensor;
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    if (plan.outputs[i] == tensor && header_->Wants(i)) return false;
  }
  for (const uint32_t reader : ensemble_->graph().readers[tensor]) {
    if (!steps_[reader].needed) continue;
    const EnsembleBindings::Step& binding = bindings_->steps()[reader];
    const auto& inputs = plan.steps[reader].inputs;
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i].tensor == tensor && !binding.version->Takes(binding.inputs[i], kind, device))
        return false;
    }
  }
  return true;
}

Status Flight::NotMade(const FlightStep& step, uint32_t input) const {
  const EnsemblePlan& plan = ensemble_->plan();
  const EnsembleStep& reader = plan.steps[step.number];
  const EnsembleStep::Mapping& read = reader.inputs[input];
  // With several producers the step would have been skipped (Skips).
  const uint32_t producer = ensemble_->graph().producers[read.tensor][0];
  std::string output;
  for (const auto& mapping : plan.steps[producer].outputs) {
    if (mapping.tensor == read.tensor) output = mapping.name;
  }
  return Status::Internal(
      "model '" + reader.model + "' (step " + std::to_string(step.number + 1) + "), input '" +
      read.name + "': tensor '" + plan.NameOf(read.tensor) + "' was not made: model '" +
      plan.steps[producer].model + "' (step " + std::to_string(producer + 1) +
      ") responded without its output '" + output +
      "'. Let it always respond with that output, or make the input optional, or write parameters "
      "{ key: \"conditional\" value { string_value: \"true\" } } in the ensemble's config.pbtxt, "
      "which then skips steps without their input");
}

Status Flight::Fill(const FlightStep& step, uint32_t position, uint32_t requests, uint64_t now_ns,
                    StepHeader* header) const {
  const EnsembleStep& plan = ensemble_->plan().steps[step.number];
  const EnsembleBindings::Step& binding = bindings_->steps()[step.number];
  const ModelIo& io = binding.version->io();
  RequestBuilder builder(
      {header, ensemble_, binding.version.get(), now_ns, 0, requests, outer_[position]});
  header->sequence.reset();
  for (size_t i = 0; i < plan.outputs.size(); i++) {
    // Ask only for outputs that have a reader.
    const Tensor& output = tensors_[plan.outputs[i].tensor];
    if (output.unread.load(std::memory_order_relaxed) > 0) {
      builder.Want(binding.wanted[i]);
    }
  }
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const Part& part = PartOf(plan.inputs[i].tensor, position);
    if (!part.present) {
      const bool needed = !io.inputs[binding.inputs[i]].optional;
      if (needed && !ensemble_->graph().producers[plan.inputs[i].tensor].empty()) {
        return NotMade(step, static_cast<uint32_t>(i));
      }
      continue;
    }
    if (!header->sequence) header->sequence = part.sequence;
    InputTensor& input = builder.AddInput(binding.inputs[i], part.datatype);
    input.shape = part.shape;
    // A shared tensor begins with the first request's part.
    const Tensor& tensor = tensors_[plan.inputs[i].tensor];
    const size_t before = tensor.apart ? 0 : position;
    // JavaScript may write to memory that it gets with an owner (instance_batch.cc). So the owner
    // is passed only to a sole, last reader. Memory without an owner is copied for JavaScript.
    // Device memory always has its owner, because the GPU copies it.
    const bool alone = count_ == 1 && ReadsAlone(step, plan.inputs[i].tensor);
    for (const Buffer& chunk : part.chunks) {
      char* const data = static_cast<char*>(chunk.data) + before * chunk.size;
      const bool owned = alone || !IsHostMemory(chunk.kind);
      builder.Pass(&input,
                   {data, chunk.size, chunk.kind, chunk.device, owned ? chunk.owner : BlockRef()});
    }
  }
  if (header->sequence) {
    const SequenceMark& mark = *header->sequence;
    for (uint32_t i = 0; i < requests; i++) {
      builder.SetSequence(i, mark.id.number, mark.id.text, mark.start, mark.end);
    }
  }
  Status status = FitToModel(plan.model, io, header);
  if (status.ok()) builder.Finish();
  return status;
}

size_t Flight::Prepare(FlightStep* step, uint64_t now_ns, Request** out) try {
  const EnsembleBindings::Step& binding = bindings_->steps()[step->number];
  const ModelIo& io = binding.version->io();
  bool apart = false;
  for (const uint32_t input : ensemble_->graph().inputs[step->number]) {
    apart = apart || tensors_[input].apart;
  }
  const auto check = [&](const Request& request) {
    return CheckRequest(ensemble_->plan().steps[step->number].model, io, request);
  };
  if (apart) {
    while (step->headers.size() < count_) {
      step->headers.push_back(std::make_unique<StepHeader>());
      step->headers.back()->step = step;
    }
  } else {
    Status status = Fill(*step, 0, count_, now_ns, &step->header);
    step->header.streams = nullptr;
    if (ensemble_->plan().steps[step->number].decoupled) {
      step->stream.Begin(nullptr, 0);
      step->header.streams = &step->stream;
    }
    Request& any = step->requests[0];
    any.header = &step->header;
    any.position = 0;
    any.released = false;
    if (status.ok()) status = check(any);
    if (!status.ok()) {
      FailStep(step, status);
      return 0;
    }
  }
  if (count_ > 1) {
    // Make room in case the responses have to be kept apart.
    for (const auto& mapping : ensemble_->plan().steps[step->number].outputs) {
      if (tensors_[mapping.tensor].parts.size() < count_) {
        tensors_[mapping.tensor].parts.resize(count_);
      }
    }
  }
  size_t sent = 0;
  for (uint32_t i = 0; i < count_; i++) {
    if (Dead(i)) continue;
    Request& request = step->requests[i];
    request.position = i;
    request.header = &step->header;
    if (apart) {
      StepHeader* const header = step->headers[i].get();
      Status status = Fill(*step, i, 1, now_ns, header);
      request.position = 0;
      request.header = header;
      request.released = false;
      if (status.ok()) status = check(request);
      if (!status.ok()) {
        FailOne(i, status, false, true);
        continue;
      }
    }
    out[sent++] = &request;
  }
  if (sent == 0) {
    End(step);
    return 0;
  }
  if (sent < count_) step->apart.store(true, std::memory_order_relaxed);
  step->unanswered.store(static_cast<uint32_t>(sent), std::memory_order_relaxed);
  {
    std::lock_guard lock(lock_);
    for (size_t i = 0; i < sent; i++) out[i]->Prepare(false);
    step->sent = true;
  }
  for (size_t i = 0; i < sent; i++) {
    // A cancellation before `sent` was set has missed the step's request, so repeat it here.
    if (outer_[static_cast<size_t>(out[i] - step->requests.get())]->cancelled.load()) {
      out[i]->cancelled.store(true, std::memory_order_relaxed);
    }
  }
  return sent;
} catch (const std::bad_alloc&) {
  FailStep(step, ensemble_->no_memory());
  return 0;
}

void Flight::AdaptOutputs() {
  const EnsemblePlan& plan = ensemble_->plan();
  for (size_t i = 0; i < plan.outputs.size(); i++) {
    Tensor& tensor = tensors_[plan.outputs[i]];
    const auto adapt = [&](Part* part) {
      if (part->present)
        AdaptBatch(plan.io.outputs[i].dims, plan.io.max_batch_size > 0, &part->shape);
    };
    adapt(&tensor.all);
    for (uint32_t k = 0; tensor.apart && k < count_; k++) adapt(&tensor.parts[k]);
  }
}

void Flight::FailStep(FlightStep* step, const Status& status) {
  for (uint32_t i = 0; i < count_; i++) FailOne(i, status, false, true);
  End(step);
}

void Flight::FailOne(uint32_t position, const Status& status, bool limited, bool in_step) {
  Outcome& outcome = outcomes_[position];
  // The status is read only after the last step has ended.
  if (outcome.failed.exchange(true, std::memory_order_acq_rel)) return;
  outcome.status = status;
  outcome.limited = limited;
  outcome.in_step = in_step;
}

void Flight::Fail(const Status& status) {
  // This thread counts as a step, so that the flight does not land meanwhile.
  uint32_t steps = under_way_.load(std::memory_order_acquire);
  do {
    if (steps == 0) return;
  } while (!under_way_.compare_exchange_weak(steps, steps + 1, std::memory_order_acq_rel));
  for (uint32_t i = 0; i < count_; i++) {
    FailOne(i, status, false, false);
    Cancel(i, *bindings_);
  }
  if (root == this && ensemble_->decoupled()) RespondInOrder();
  Land();
}

void Flight::Cancel(uint32_t position, const EnsembleBindings& bindings) {
  for (size_t i = 0; i < ensemble_->plan().steps.size(); i++) {
    FlightStep& step = steps_[i];
    Request* request = nullptr;
    {
      std::lock_guard lock(lock_);
      if (step.sent) request = &step.requests[position];
    }
    // The pin keeps the flight, so the request still belongs to this step.
    if (!request || request->state() == Request::State::kIdle) continue;
    bindings.steps()[i].version->Cancel({&request, 1});
    if (ensemble_->plan().steps[i].decoupled) step.stream.Wake();
  }
}

}  // namespace tritonts

// Takes the responses of steps, and finds the steps that they make ready.
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/rules.h"
#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/flight.h"
#include "engine/ensemble/relay.h"
#include "engine/request/call_graph.h"
#include "engine/version/shapes.h"

namespace tritonts {

namespace {

// Sums of batches' times.
struct BatchTimes {
  uint64_t queue_ns = 0;
  uint64_t input_ns = 0;
  uint64_t infer_ns = 0;
  uint64_t output_ns = 0;

  void Add(uint64_t arrival_ns, const BatchTimings& timings) {
    queue_ns += timings.exec_start_ns - arrival_ns;
    input_ns += timings.compute_start_ns - timings.exec_start_ns;
    infer_ns += timings.compute_end_ns - timings.compute_start_ns;
    output_ns += timings.exec_end_ns - timings.compute_end_ns;
  }
};

}  // namespace

StatusOr<Buffer> Flight::ShareOrCopy(const FlightStep& step, const OutputTensor& output,
                                     size_t size) {
  const auto* const data = static_cast<const char*>(output.data);
  void* const place = const_cast<char*>(data);
  if (size == 0) return Buffer{place, 0, MemoryKind::kHost, 0, {}};
  if (output.block) {
    return Buffer{place, size, output.kind, output.block->device(), BlockRef::Share(output.block)};
  }
  // A model may return its inputs unchanged. Then the tensor has an owner, or belongs to the
  // caller.
  for (const uint32_t input : ensemble_->graph().inputs[step.number]) {
    const Tensor& tensor = tensors_[input];
    if (tensor.apart || tensor.all.chunks.size() != 1) continue;
    const Buffer& chunk = tensor.all.chunks[0];
    const auto* const first = static_cast<const char*>(chunk.data);
    if (data < first || data + size > first + chunk.size * count_) continue;
    return Buffer{place, size, chunk.kind, chunk.device, chunk.owner};
  }
  BlockRef block = ensemble_->pool().Acquire(size);
  if (!block) return ensemble_->no_memory();
  std::memcpy(block->data(), data, size);
  return Buffer{block->data(), size, MemoryKind::kHost, 0, block};
}

bool Flight::SharesInput(const FlightStep& step, const Buffer& buffer) {
  bool shares = !buffer.owner;  // without an owner it belongs to the caller
  for (const uint32_t input : ensemble_->graph().inputs[step.number]) {
    for (const Buffer& chunk : tensors_[input].all.chunks) {
      if (!buffer.owner || chunk.owner.get() != buffer.owner.get()) continue;
      tensors_[input].shared.store(true, std::memory_order_relaxed);
      shares = true;
    }
  }
  return shares;
}

Status Flight::Put(const FlightStep& from, const OutputTensor& output, Buffer buffer,
                   Tensor* tensor, Part* part) const {
  part->Clear();
  part->datatype = output.datatype;
  if (output.batch >= 0) part->shape.push_back(output.batch);
  for (const int64_t dim : output.tail) part->shape.push_back(dim);
  const ModelIo& io = bindings_->steps()[from.number].version->io();
  const std::string& model = ensemble_->plan().steps[from.number].model;
  if (Status status = ToCallerShape(model, io, output.index, &part->shape); !status.ok()) {
    return status;
  }
  // Needed only for flights of one request: with several, no reader gets the owner, so none may
  // write.
  if (count_ == 1 && from.flight->SharesInput(from, buffer)) {
    tensor->shared.store(true, std::memory_order_relaxed);
  }
  part->chunks.push_back(std::move(buffer));
  part->present = true;
  return Status::Ok();
}

void Flight::AddTimes(uint32_t position, const RequestHeader& header, const BatchTimings& timings) {
  BatchTimes times;
  times.Add(header.arrival_ns, timings);
  Outcome& outcome = outcomes_[position];
  const auto add = [](std::atomic<uint64_t>* sum, uint64_t ns) {
    sum->fetch_add(ns, std::memory_order_relaxed);
  };
  add(&outcome.queue_ns, times.queue_ns);
  add(&outcome.input_ns, times.input_ns);
  add(&outcome.infer_ns, times.infer_ns);
  add(&outcome.output_ns, times.output_ns);
}

StatusOr<NamedSequence> Flight::SequenceOf(const FlightStep& step, const Response& response) const {
  const NamedSequence& inherited =
      static_cast<const StepHeader*>(response.request->header)->sequence;
  if (!response.parameters) return inherited;
  std::shared_ptr<SequenceMark> named;
  for (const RequestParameter& parameter : *response.parameters) {
    const bool is_id = parameter.name == "sequence_id";
    const bool is_start = parameter.name == "sequence_start";
    if (!is_id && !is_start && parameter.name != "sequence_end") continue;
    if (!named) {
      named = std::make_shared<SequenceMark>(response.request->sequence());
      named->place = nullptr;
    }
    const auto* const flag = std::get_if<bool>(&parameter.value);
    const auto* const text = std::get_if<std::string>(&parameter.value);
    const auto* const number = std::get_if<int64_t>(&parameter.value);
    const bool fits =
        is_id ? number || (text && text->size() <= kMostSequenceIdBytes) : flag != nullptr;
    if (!fits) {
      return Status::Internal("model '" + ensemble_->plan().steps[step.number].model +
                              "': the parameter '" + parameter.name + "' of its response " +
                              (is_id ? "must be an integer or a text of at most " +
                                           std::to_string(kMostSequenceIdBytes) + " bytes"
                                     : std::string("must be a bool")) +
                              ", because it names the sequence of the next step");
    }
    if (is_id) {
      named->id.number = number ? static_cast<uint64_t>(*number) : 0;
      named->id.text = text ? *text : std::string();
    } else {
      (is_start ? named->start : named->end) = *flag;
    }
  }
  return named ? NamedSequence(std::move(named)) : inherited;
}

void Flight::Take(FlightStep* step, const Response& response) {
  const auto position = static_cast<uint32_t>(response.request - step->requests.get());
  if (count_ > 1) step->apart.store(true, std::memory_order_relaxed);
  const RequestHeader& header = *response.request->header;
  if (header.call && response.final) header.call->Ended(response.request->position);
  if (response.abandoned) {
    abandoned_.store(true, std::memory_order_relaxed);
    root->abandoned_.store(true, std::memory_order_relaxed);
  }
  if (ensemble_->plan().steps[step->number].decoupled) return TakeOfMany(step, response);
  if (response.timings) AddTimes(position, *response.request->header, *response.timings);
  if (!response.status.ok()) {
    FailOne(position, response.status, response.limited, true);
    return;
  }
  if (!response.final) {
    FailOne(position, MakeStatus([&] {
              return Status::Internal("model '" + ensemble_->plan().steps[step->number].model +
                                      "' responded more than once, as only a decoupled model may");
            }),
            false, true);
    return;
  }
  const EnsembleStep& plan = ensemble_->plan().steps[step->number];
  const EnsembleBindings::Step& binding = bindings_->steps()[step->number];
  try {
    StatusOr<NamedSequence> sequence = SequenceOf(*step, response);
    if (!sequence.ok()) return FailOne(position, sequence.status(), false, true);
    for (const OutputTensor& output : response.outputs) {
      const int32_t mapping = binding.mapping_of[output.index];
      if (mapping < 0) continue;
      Tensor& tensor = tensors_[plan.outputs[static_cast<size_t>(mapping)].tensor];
      if (!Claim(&tensor, step->number)) continue;
      if (count_ > 1) tensor.touched.store(true, std::memory_order_relaxed);
      Part& part = count_ > 1 ? tensor.parts[position] : tensor.all;
      auto kept = ShareOrCopy(*step, output, output.size);
      Status status = kept.status();
      if (status.ok()) status = Put(*step, output, kept.take(), &tensor, &part);
      if (!status.ok()) return FailOne(position, status, false, true);
      part.sequence = sequence.value();
    }
  } catch (const std::bad_alloc&) {
    FailOne(position, ensemble_->no_memory(), false, true);
  }
}

bool Flight::IsWhole(const FlightStep& step, const AlikeResponses& alike, size_t first) const {
  if (alike.requests.size() - first < count_) return false;
  for (uint32_t i = 0; i < count_; i++) {
    const Request* const request = alike.requests[first + i];
    if (request != &step.requests[i]) return false;
    // Each tensor has a sequence of its own then.
    if (count_ > 1 && static_cast<const StepHeader*>(request->header)->sequence) return false;
  }
  return true;
}

void Flight::TakeAlike(FlightStep* step, const AlikeResponses& alike, size_t first) {
  const EnsembleStep& plan = ensemble_->plan().steps[step->number];
  const EnsembleBindings::Step& binding = bindings_->steps()[step->number];
  step->times = *alike.timings;
  if (step->header.call) {
    for (uint32_t i = 0; i < count_; i++) step->header.call->Ended(i);
  }
  try {
    for (OutputTensor output : alike.outputs) {
      const int32_t mapping = binding.mapping_of[output.index];
      if (mapping < 0) continue;
      Tensor& tensor = tensors_[plan.outputs[static_cast<size_t>(mapping)].tensor];
      if (!Claim(&tensor, step->number)) continue;
      output.data = static_cast<const char*>(output.data) + first * output.size;
      auto kept = ShareOrCopy(*step, output, output.size * count_);
      Status status = kept.status();
      if (status.ok()) {
        Buffer buffer = kept.take();
        buffer.size = output.size;
        status = Put(*step, output, std::move(buffer), &tensor, &tensor.all);
      }
      if (!status.ok()) {
        for (uint32_t i = 0; i < count_; i++) FailOne(i, status, false, true);
        return;
      }
      tensor.all.sequence = step->header.sequence;
    }
  } catch (const std::bad_alloc&) {
    for (uint32_t i = 0; i < count_; i++) FailOne(i, ensemble_->no_memory(), false, true);
  }
}

void Flight::Answered(FlightStep* step, uint32_t count) {
  const uint32_t before = step->unanswered.fetch_sub(count, std::memory_order_acq_rel);
  TRITONTS_ASSERT(before >= count, "a step of an ensemble got more answers than it asked for");
  if (before == count) End(step);
}

void Flight::End(FlightStep* step) {
  {
    std::lock_guard lock(lock_);
    step->sent = false;
  }
  ensemble_->Leave(step);
  const bool decoupled = ensemble_->plan().steps[step->number].decoupled;
  if (decoupled) {
    step->stream.Forget();
    const Status failure = std::exchange(step->failure, Status());
    if (!failure.ok()) FailOne(0, failure, step->limited, true);
  }
  // An abandoned run may still read the inputs.
  if (!abandoned_.load(std::memory_order_relaxed)) step->header.ClearInputs();
  for (const uint32_t input : ensemble_->graph().inputs[step->number]) {
    Tensor& tensor = tensors_[input];
    if (tensor.unread.fetch_sub(1, std::memory_order_acq_rel) == 1) tensor.Clear();
  }
  // If no request is alive, no further step is sent. The tensors of a decoupled step belong to its
  // children.
  if (!decoupled && AnyAlive()) EndProduction(*step);
  Land();
}

void Flight::EndProduction(const FlightStep& step) {
  for (const auto& mapping : ensemble_->plan().steps[step.number].outputs) {
    Tensor& tensor = tensors_[mapping.tensor];
    if (count_ > 1 && step.apart.load(std::memory_order_relaxed)) tensor.apart = true;
    // The step that produced the tensor settles it, or the last step that might have produced it.
    const bool last = tensor.unproduced.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const uint32_t producer = tensor.producer.load(std::memory_order_acquire);
    if (producer == step.number || (last && producer == kNone)) Settle(mapping.tensor);
  }
}

void Flight::AddSharedTimes() {
  BatchTimes shared;
  for (size_t i = 0; i < ensemble_->plan().steps.size(); i++) {
    const FlightStep& step = steps_[i];
    if (step.times.exec_end_ns != 0) shared.Add(step.header.arrival_ns, step.times);
  }
  // No step runs any more, so no other thread adds to these.
  const auto add = [](std::atomic<uint64_t>* sum, uint64_t ns) {
    sum->store(sum->load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
  };
  for (uint32_t k = 0; k < count_; k++) {
    Outcome& outcome = outcomes_[k];
    add(&outcome.queue_ns, shared.queue_ns);
    add(&outcome.input_ns, shared.input_ns);
    add(&outcome.infer_ns, shared.infer_ns);
    add(&outcome.output_ns, shared.output_ns);
  }
}

bool Flight::Skips(const FlightStep& step) const {
  if (!ensemble_->plan().conditional) return false;
  const EnsembleStep& plan = ensemble_->plan().steps[step.number];
  const EnsembleBindings::Step& binding = bindings_->steps()[step.number];
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const bool optional = binding.version->io().inputs[binding.inputs[i]].optional;
    if (!optional && !tensors_[plan.inputs[i].tensor].all.present) return true;
  }
  return false;
}

void Flight::Settle(uint32_t tensor) {
  for (const uint32_t reader : ensemble_->graph().readers[tensor]) {
    FlightStep& step = steps_[reader];
    if (!step.needed || step.unsettled.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
    if (Skips(step)) {
      for (const uint32_t input : ensemble_->graph().inputs[reader]) {
        Tensor& read = tensors_[input];
        if (read.unread.fetch_sub(1, std::memory_order_acq_rel) == 1) read.Clear();
      }
      EndProduction(step);
      continue;
    }
    under_way_.fetch_add(1, std::memory_order_relaxed);
    Relay::Current().AddReady(&step);
  }
}

void Flight::Land() {
  if (under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1) Relay::Current().AddLanded(this);
}

}  // namespace tritonts

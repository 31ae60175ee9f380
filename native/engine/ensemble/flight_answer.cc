// Answers a flight's requests.
#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/flight.h"

namespace tritonts {

namespace {

// Leaves outputs that overlap one owner: the caller may write to memory that it gets with an owner,
// so the sink copies the others. A step that returned its input unchanged makes such outputs.
void SeparateOwners(std::span<OutputTensor> outputs) {
  const auto overlap = [](const OutputTensor& one, const OutputTensor& other) {
    const auto* const begin = static_cast<const char*>(one.data);
    const auto* const other_begin = static_cast<const char*>(other.data);
    return begin < other_begin + other.size && other_begin < begin + one.size;
  };
  for (size_t i = 1; i < outputs.size(); i++) {
    const auto before = outputs.first(i);
    const auto shares = [&](const OutputTensor& one) {
      return one.block && one.block == outputs[i].block && overlap(one, outputs[i]);
    };
    if (std::ranges::any_of(before, shares)) outputs[i].block = nullptr;
  }
}

}  // namespace

BatchTimings Flight::TimingsOf(uint32_t position) const {
  const Outcome& outcome = outcomes_[position];
  BatchTimings timings;
  timings.batch = number_;
  timings.batch_size = header_->batch_size;
  // The times of the steps are added up, as in Triton.
  timings.exec_start_ns = header_->arrival_ns + outcome.queue_ns;
  timings.compute_start_ns = timings.exec_start_ns + outcome.input_ns;
  timings.compute_end_ns = timings.compute_start_ns + outcome.infer_ns;
  timings.exec_end_ns = timings.compute_end_ns + outcome.output_ns;
  return timings;
}

void Flight::AddPart(uint32_t position, uint64_t now_ns, bool ok) {
  const Outcome& outcome = outcomes_[position];
  RunTotals::Times times;
  times.request_ns = now_ns - header_->arrival_ns;
  times.queue_ns = outcome.queue_ns;
  times.input_ns = outcome.input_ns;
  times.infer_ns = outcome.infer_ns;
  times.output_ns = outcome.output_ns;
  times.first_ns = (first_ns_ != 0 ? first_ns_ : now_ns) - header_->arrival_ns;
  RunTotals::AddPart(&parts_, times, 1, ok);
}

void Flight::Answer() {
  if (from_) return LandChild();
  const std::shared_ptr<Ensemble> ensemble = ensemble_->shared_from_this();
  const uint32_t count = count_;
  const bool keep = abandoned_.load(std::memory_order_relaxed);
  Ensemble::Landing landing;
  landing.now_ns = NowNs();
  const uint64_t elapsed = landing.now_ns - header_->arrival_ns;
  parts_.clear();
  landing.batch_size = header_->batch_size;
  AddSharedTimes();
  AdaptOutputs();
  for (uint32_t i = 0; i < count; i++) {
    const bool cancelled = outer_[i]->cancelled.load(std::memory_order_acquire);
    if (cancelled && !outcomes_[i].failed.load(std::memory_order_relaxed)) {
      FailOne(i, ensemble->cancelled(), false, false);
    }
    const Outcome& outcome = outcomes_[i];
    if (outcome.failed.load(std::memory_order_relaxed)) {
      landing.fail.Add(1, elapsed);
      AddPart(i, landing.now_ns, false);
      if (cancelled) {
        landing.cancelled++;
      } else if (outcome.in_step) {
        landing.step_failed++;
      }
      continue;
    }
    landing.success.Add(1, elapsed);
    AddPart(i, landing.now_ns, true);
    landing.rows += header_->batch_size;
    landing.queue_ns += outcome.queue_ns;
    landing.times.compute_input.Add(1, outcome.input_ns);
    landing.times.compute_infer.Add(1, outcome.infer_ns);
    landing.times.compute_output.Add(1, outcome.output_ns);
  }
  landing.parts = parts_;
  ensemble->NoteLanding(landing, outer_);
  for (Request* request : outer_) request->set_state(Request::State::kDone);
  if (landing.fail.count > 0 || !AnswerAlike()) AnswerEach();
  // An abandoned run may still read the tensors.
  if (!keep) Reset();
  ensemble->Return(this, count, keep);
}

bool Flight::AnswerAlike() {
  const EnsemblePlan& plan = ensemble_->plan();
  if (count_ == 1) return false;
  outputs_.clear();
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    if (!header_->Wants(i)) continue;
    const Tensor& tensor = tensors_[plan.outputs[i]];
    if (tensor.apart) return false;
    const Part& part = tensor.all;
    if (!part.present) continue;
    if (part.chunks.size() != 1 || part.shape.empty()) return false;
    const Buffer& chunk = part.chunks[0];
    outputs_.push_back({i, part.datatype, part.shape[0],
                        std::span(part.shape.begin(), part.shape.end()).subspan(1), chunk.data,
                        chunk.size, chunk.kind, chunk.owner.get()});
  }
  SeparateOwners(outputs_);
  const BatchTimings timings = TimingsOf(0);
  try {
    header_->sink->DeliverAlike({outer_, outputs_, &timings});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

ResponseParameters Flight::ParametersOf(uint32_t position) const {
  const EnsemblePlan& plan = ensemble_->plan();
  for (uint32_t i = 0; i < plan.outputs.size(); i++) {
    const Part& part = PartOf(plan.outputs[i], position);
    if (!header_->Wants(i) || !part.present || !part.sequence) continue;
    const SequenceMark& mark = *part.sequence;
    std::vector<RequestParameter> made;
    if (mark.id.text.empty()) {
      made.push_back({"sequence_id", static_cast<int64_t>(mark.id.number)});
    } else {
      made.push_back({"sequence_id", mark.id.text});
    }
    made.push_back({"sequence_start", mark.start});
    made.push_back({"sequence_end", mark.end});
    return std::make_shared<const std::vector<RequestParameter>>(std::move(made));
  }
  return nullptr;
}

void Flight::AnswerEach() {
  const EnsemblePlan& plan = ensemble_->plan();
  const bool abandoned = abandoned_.load(std::memory_order_relaxed);
  Status failure;  // the step's status that `named` was made from
  Status named;    // with the ensemble's name before it
  for (uint32_t i = 0; i < count_; i++) {
    const Outcome& outcome = outcomes_[i];
    const BatchTimings timings = TimingsOf(i);
    Response response;
    response.request = outer_[i];
    response.timings = &timings;
    response.abandoned = abandoned;
    outputs_.clear();
    if (outcome.failed.load(std::memory_order_relaxed)) {
      response.status = outcome.status;
      response.limited = outcome.limited;
      if (outcome.in_step) {
        if (!failure.SameAs(outcome.status) || failure.ok()) {
          failure = outcome.status;
          named = MakeStatus([&] {
            return failure.With("in ensemble '" + ensemble_->name() + "', " + failure.message());
          });
        }
        response.status = named;
      }
    } else if (!responds_) {
      // The children have responded.
      response.empty = true;
    } else {
      for (uint32_t k = 0; k < plan.outputs.size(); k++) {
        if (!header_->Wants(k)) continue;
        const Part& part = PartOf(plan.outputs[k], i);
        if (!part.present || part.chunks.size() != 1) continue;
        const Buffer& chunk = part.chunks[0];
        // The request's part of a shared tensor.
        const size_t offset = tensors_[plan.outputs[k]].apart ? 0 : i * chunk.size;
        outputs_.push_back({k, part.datatype, -1, std::span(part.shape.begin(), part.shape.end()),
                            static_cast<const char*>(chunk.data) + offset, chunk.size, chunk.kind,
                            chunk.owner.get()});
      }
      SeparateOwners(outputs_);
      response.outputs = outputs_;
      try {
        response.parameters = ParametersOf(i);
      } catch (const std::bad_alloc&) {
        response.status = ensemble_->no_memory();
        response.outputs = {};
      }
    }
    header_->sink->Deliver({&response, 1});
  }
}

}  // namespace tritonts

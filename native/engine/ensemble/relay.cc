#include "engine/ensemble/relay.h"

#include <array>
#include <utility>

#include "engine/base/clock.h"
#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/flight.h"
#include "engine/request/admission.h"

namespace tritonts {

namespace {

// The relay of this thread, which is on this thread's stack; null: none.
thread_local Relay* current = nullptr;

// At most this many requests are submitted together. A flight has fewer.
constexpr size_t kTogether = 1024;

}  // namespace

Relay::Relay(InlineTime* inline_time) : outer_(current), inline_time_(inline_time) {
  if (!outer_) current = this;
}

Relay::~Relay() {
  if (outer_) return;
  Carry();
  current = nullptr;
}

Relay::Hidden::Hidden() : hidden_(std::exchange(current, nullptr)) {}

Relay::Hidden::~Hidden() {
  current = hidden_;
}

Relay& Relay::Current() {
  return *current;
}

void Relay::AddReady(FlightStep* step) {
  step->next = nullptr;
  (last_ready_ ? last_ready_->next : ready_) = step;
  last_ready_ = step;
}

void Relay::AddLanded(Flight* flight) {
  flight->next = nullptr;
  (last_landed_ ? last_landed_->next : landed_) = flight;
  last_landed_ = flight;
}

void Relay::Carry() {
  while (ready_ || landed_) {
    // Steps come first, so that models are busy while answers are delivered.
    while (ready_) SubmitReady();
    AnswerLanded();
  }
}

void Relay::SubmitReady() {
  std::array<Request*, kTogether> requests;
  size_t count = 0;
  // Submit all steps that go to the executor of the first step; the other steps stay.
  const Executor* chosen = nullptr;
  std::shared_ptr<Served> executor;
  const Status* no_memory = nullptr;
  const uint64_t now = NowNs();
  FlightStep* step = ready_;
  ready_ = last_ready_ = nullptr;
  FlightStep* others = nullptr;
  FlightStep* last_other = nullptr;
  while (step) {
    FlightStep* const after = step->next;
    const auto& version = step->flight->bindings()->steps()[step->number].version;
    if (!chosen) {
      chosen = version.get();
      executor = version;
    }
    if (version.get() != chosen || count + step->flight->count() > requests.size()) {
      step->next = nullptr;
      (last_other ? last_other->next : others) = step;
      last_other = step;
    } else {
      Flight* const flight = step->flight;
      if (flight->ensemble()->Admit(step)) {
        const size_t before = count;
        count += flight->Prepare(step, now, requests.data() + count);
        // The reference stays valid: the flight waits for these requests and so keeps its ensemble.
        if (count > before) no_memory = &flight->ensemble()->no_memory();
      }
    }
    step = after;
  }
  // Steps that Prepare made ready come after the remaining steps.
  if (others) {
    last_other->next = ready_;
    ready_ = others;
    if (!last_ready_) last_ready_ = last_other;
  }
  if (count == 0) return;
  const Admission admission(*executor, *no_memory);
  if (const size_t left = admission.AdmitCalls(std::span(requests).first(count)); left > 0) {
    executor->Submit(std::span(requests).first(left), now, inline_time_);
  }
}

void Relay::AnswerLanded() {
  while (Flight* const flight = landed_) {
    landed_ = flight->next;
    if (!landed_) last_landed_ = nullptr;
    flight->Answer();
  }
}

}  // namespace tritonts

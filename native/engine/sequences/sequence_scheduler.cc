#include "engine/sequences/sequence_scheduler.h"

#include <algorithm>

#include "engine/base/rules.h"

namespace tritonts {

namespace {

std::string Milliseconds(uint64_t ns) {
  return std::to_string((ns + 500'000) / 1'000'000) + " ms";
}

// When the time-out of a request in the backlog is over.
uint64_t TimeoutOf(const RequestHeader& header) {
  return header.timeout_ns > UINT64_MAX - header.arrival_ns ? UINT64_MAX
                                                            : header.arrival_ns + header.timeout_ns;
}

uint64_t Least(uint64_t one, uint64_t other) {
  return one == 0 || (other != 0 && other < one) ? other : one;
}

// How many inputs a batch gets.
size_t MostOverlays(const SequencePolicy& policy) {
  const bool direct = policy.strategy == SequencePolicy::Strategy::kDirect;
  const size_t rows = direct ? policy.slots : policy.max_batch_size;
  return std::max<size_t>(1, rows) * (policy.controls.size() + policy.states.size());
}

size_t MostDims(const SequencePolicy& policy) {
  size_t most = 2;  // of control tensors
  for (const SequenceStateSpec& state : policy.states) {
    most = std::max(most, state.first_shape.size());
  }
  return most;
}

}  // namespace

SequenceScheduler::SequenceScheduler(SequencePolicy policy, uint32_t instances, std::string model,
                                     Budget* budget)
    : policy_(std::move(policy)),
      slots_(std::max(1u, instances), std::max(1u, policy_.slots)),
      states_(policy_.states.empty() ? nullptr
                                     : std::make_shared<SequenceStates>(policy_.states, budget)),
      overlays_(MostOverlays(policy_), MostDims(policy_)),
      model_(std::move(model)),
      controls_(policy_.controls, policy_.max_batch_size > 0) {}

SequenceScheduler::~SequenceScheduler() {
  slots_.ForEach([this](Sequence* sequence) { Delete(sequence); });
  while (Sequence* waiting = backlog_.front()) {
    backlog_.Remove(waiting);
    Delete(waiting);
  }
}

SequenceCounts SequenceScheduler::sequences() const {
  SequenceCounts counts = counts_;
  counts.slots = slots_.most();
  counts.live = slots_.taken();
  counts.idle = idle_.size();
  counts.backlog = backlog_.size();
  if (states_) counts.state_bytes = states_->bytes();
  return counts;
}

// --- Requests that come.

Status SequenceScheduler::Check(const Request& request) const {
  const SequenceMark& mark = request.sequence();
  if (request.header->batch_size > 1) {
    return Status::InvalidArg("model '" + model_ +
                              "': a request of a sequence must have 1 row, but " +
                              std::to_string(request.header->batch_size) + " were received");
  }
  if (mark.id.none()) {
    if (policy_.iterative) return Status::Ok();
    return Status::InvalidArg("model '" + model_ +
                              "': expected the id of a sequence, a number other than 0 or a text "
                              "that is not empty, but received none: send it as options.sequence "
                              "or the parameter sequence_id, or use model.sequence()");
  }
  const std::string datatype = controls_.ComplaintOf(mark.id);
  if (datatype.empty()) return Status::Ok();
  return Status::InvalidArg("model '" + model_ + "': expected a " +
                            (mark.id.text.empty() ? "text" : "number") +
                            " as the id of a sequence, because its control tensor is " + datatype +
                            ", but received " + TextOf(mark.id));
}

Status SequenceScheduler::Unknown(const SequenceId& id, const SequenceEntry* entry,
                                  uint64_t now_ns) const {
  std::string why = "no sequence with this id is known";
  if (entry) {
    switch (entry->end) {
      case SequenceEnd::kEnded:
        why = "its last sequence ended with a request that had END";
        break;
      case SequenceEnd::kIdle:
        why = "its last sequence got no request for " + Milliseconds(policy_.max_idle_ns) +
              " (max_sequence_idle_microseconds) and ended";
        break;
      case SequenceEnd::kCancelled:
        why = "its last sequence ended when a waiting request of it was cancelled";
        break;
      case SequenceEnd::kExpired:
        why =
            "its last sequence ended when it had waited for a slot longer than a time-out of its "
            "requests";
        break;
      case SequenceEnd::kBroken:
        why = "its last sequence ended because its state could not be kept";
        break;
      case SequenceEnd::kFailed:
        why = "its last sequence ended when its waiting requests failed";
        break;
    }
    if (entry->ended_ns != kUnknownTime) {
      const uint64_t ago = now_ns > entry->ended_ns ? now_ns - entry->ended_ns : 0;
      why += ", " + Milliseconds(ago) + " ago";
    }
  } else if (policy_.reloaded) {
    why += ": the model was reloaded, and sequences that began before have ended";
  }
  return Status::InvalidArg("model '" + model_ + "': the first request of sequence " + TextOf(id) +
                            " must have START; " + why +
                            ". Begin it with options.sequence.start or the parameter "
                            "sequence_start");
}

Status SequenceScheduler::Begin(Request* request, Sequence** sequence) {
  auto made = std::make_unique<Sequence>();
  const RequestHeader& header = *request->header;
  SequenceMark& mark = request->mark();
  made->generated = mark.id.none();
  if (made->generated) {
    made->id.number = last_generated_ + 1;
    // An id that a caller has used is not generated.
    while (ids_.Find(made->id)) made->id.number++;
  } else {
    made->id = mark.id;
  }
  controls_.Prepare(made.get());
  if (states_) {
    Status refused = states_->Begin(&made->state);
    if (!refused.ok()) return refused.With("model '" + model_ + "': " + refused.message());
  }
  SequenceEntry* entry = nullptr;
  try {
    // A generated id has no entry: a caller who uses the same number begins another sequence.
    if (!made->generated) entry = ids_.Add(made->id);
    slots_.Reserve();
    if (!slots_.any_free() && header.timeout_ns > 0) {
      Limit(made.get(), TimeoutOf(header));
    }
  } catch (const std::bad_alloc&) {
    if (entry) ids_.Withdraw(entry);
    if (made->state) states_->Release(made->state.get());
    throw;
  }
  // Nothing fails from here on.
  if (entry) {
    ids_.Begin(entry, made.get());
    made->entry = entry;
  } else {
    last_generated_ = made->id.number;
    mark.id.number = made->id.number;
    mark.start = true;
  }
  counts_.begun++;
  if (slots_.any_free()) {
    made->slot = slots_.Take(made.get());
  } else {
    backlog_.Append(made.get());
  }
  *sequence = made.release();
  return Status::Ok();
}

void SequenceScheduler::Limit(Sequence* sequence, uint64_t at_ns) {
  if (sequence->expires_ns != 0 && sequence->expires_ns <= at_ns) return;
  expiries_.insert({at_ns, sequence});
  if (sequence->expires_ns != 0) expiries_.erase({sequence->expires_ns, sequence});
  sequence->expires_ns = at_ns;
}

Status SequenceScheduler::Enqueue(Request* request, uint64_t now_ns) {
  RequestHeader* const header = request->header;
  // Its sender may have named no sequence for all requests of the header.
  header->AddMarks();
  SequenceMark& mark = request->mark();
  if (Sequence* const again = mark.place) {
    // It was rescheduled, and runs before the sequence's other requests.
    TRITONTS_ASSERT(again->running && !again->candidate, "a request came again that did not run");
    again->queue.InsertBehind(nullptr, {&request, 1});
    waiting_++;
    return Status::Ok();
  }
  if (Status refused = Check(*request); !refused.ok()) return refused;
  SequenceEntry* const entry = mark.id.none() ? nullptr : ids_.Find(mark.id);
  Sequence* sequence = entry ? entry->live : nullptr;
  if (sequence) {
    if (sequence->list == Sequence::List::kBacklog && header->timeout_ns > 0) {
      Limit(sequence, TimeoutOf(*header));
    }
  } else if (mark.start || mark.id.none()) {
    if (Status refused = Begin(request, &sequence); !refused.ok()) return refused;
  } else {
    return Unknown(mark.id, entry, now_ns);
  }
  if (sequence->list == Sequence::List::kIdle) idle_.Remove(sequence);
  const bool first = !sequence->waits();
  sequence->queue.Append(request);
  waiting_++;
  mark.place = sequence;
  if (mark.end && !sequence->generated) {
    sequence->ended = true;
    EndId(sequence, SequenceEnd::kEnded, now_ns);
  }
  if (first && !sequence->running && sequence->slot != Sequence::kNoSlot) Ready(sequence);
  return Status::Ok();
}

// --- Requests that run.

Request* SequenceScheduler::TakeFirst(Sequence* sequence) {
  Request* const request = sequence->queue.front();
  sequence->queue.Remove(request);
  return request;
}

void SequenceScheduler::Run(Sequence* sequence, Batch* batch) {
  waiting_--;
  sequence->running = true;
  sequence->in_batch = batch->sequences;
  batch->sequences = sequence;
}

void SequenceScheduler::Ended(Sequence* sequences, uint64_t now_ns) {
  const uint32_t instance = slots_.InstanceOf(sequences->slot);
  // The list begins with the last one of the batch. Their next requests queue in the batch's order.
  Sequence* first = nullptr;
  for (Sequence* one = sequences; one;) {
    Sequence* const next = std::exchange(one->in_batch, first);
    first = std::exchange(one, next);
  }
  for (Sequence* one = first; one;) {
    Sequence* const next = std::exchange(one->in_batch, nullptr);
    one->running = false;
    if (one->state) states_->Advance(one->state.get());
    if (one->state && one->state->fault() != StateFault::kNone) {
      Break(one, now_ns);
    } else if (one->waits()) {
      Ready(one);
    } else {
      Rest(one, now_ns);
    }
    one = next;
  }
  OnRan(instance);
}

void SequenceScheduler::Ready(Sequence* sequence) {
  if (sequence->state && sequence->queue.front()->sequence().start) {
    states_->Restart(sequence->state.get());
  }
  OnReady(sequence);
}

void SequenceScheduler::Rest(Sequence* sequence, uint64_t now_ns) {
  if (sequence->ended || sequence->generated || closed_) {
    return Remove(sequence, SequenceEnd::kEnded, now_ns);
  }
  sequence->idle_since_ns = now_ns;
  idle_.Append(sequence);
}

// --- Sequences that end.

void SequenceScheduler::EndId(Sequence* sequence, SequenceEnd end, uint64_t now_ns) {
  SequenceEntry* const entry = std::exchange(sequence->entry, nullptr);
  if (entry) ids_.End(entry, end, now_ns);
}

void SequenceScheduler::Remove(Sequence* sequence, SequenceEnd end, uint64_t now_ns) {
  TRITONTS_ASSERT(!sequence->waits() && !sequence->running, "a sequence ended with requests");
  EndId(sequence, end, now_ns);
  if (sequence->list == Sequence::List::kIdle) idle_.Remove(sequence);
  if (sequence->list == Sequence::List::kBacklog) LeaveBacklog(sequence);
  const uint64_t slot = sequence->slot;
  Delete(sequence);
  if (slot == Sequence::kNoSlot) return;
  const bool open = slots_.is_open(SequenceSlots::InstanceOf(slot));
  Sequence* const next = open ? backlog_.front() : nullptr;
  if (!next) return slots_.Release(slot);
  LeaveBacklog(next);
  slots_.Replace(slot, next);
  next->slot = slot;
  Ready(next);
}

void SequenceScheduler::LeaveBacklog(Sequence* sequence) {
  backlog_.Remove(sequence);
  if (sequence->expires_ns == 0) return;
  expiries_.erase({sequence->expires_ns, sequence});
  sequence->expires_ns = 0;
}

void SequenceScheduler::Expire(uint64_t now_ns, Expired* expired) {
  while (Sequence* oldest = idle_.front()) {
    const uint64_t at = oldest->idle_since_ns + policy_.max_idle_ns;
    if (at > now_ns) {
      expired->wake_at_ns = at;
      break;
    }
    counts_.idled++;
    Remove(oldest, SequenceEnd::kIdle, now_ns);
  }
  while (!expiries_.empty()) {
    const auto [at, sequence] = *expiries_.begin();
    if (at > now_ns) {
      expired->wake_at_ns = Least(expired->wake_at_ns, at);
      break;
    }
    while (!sequence->queue.empty()) {
      expired->requests.push_back(TakeFirst(sequence));
      waiting_--;
    }
    counts_.expired++;
    Remove(sequence, SequenceEnd::kExpired, now_ns);
  }
  const auto report = [](RequestQueue* from, std::vector<Request*>* to) {
    while (!from->empty()) {
      to->push_back(from->front());
      from->Remove(from->front());
    }
  };
  report(&cancelled_, &expired->cancelled);
  report(&broken_, &expired->broken);
}

void SequenceScheduler::Dismiss(Request* request, RequestQueue* to) {
  waiting_--;
  to->Append(request);
  // It can no longer be cancelled.
  request->queued = false;
}

void SequenceScheduler::Break(Sequence* sequence, uint64_t now_ns) {
  counts_.broken++;
  while (!sequence->queue.empty()) Dismiss(TakeFirst(sequence), &broken_);
  Remove(sequence, SequenceEnd::kBroken, now_ns);
}

void SequenceScheduler::Delete(Sequence* sequence) {
  if (sequence && sequence->state) states_->Release(sequence->state.get());
  delete sequence;
}

bool SequenceScheduler::Cancel(Request* request) {
  if (!request->queued) return false;
  Sequence* const sequence = request->sequence().place;
  const bool backlogged = sequence->list == Sequence::List::kBacklog;
  if (sequence->candidate == request) {
    Withdraw(sequence);
    sequence->candidate = nullptr;
    waiting_--;
    while (!sequence->queue.empty()) Dismiss(TakeFirst(sequence), &cancelled_);
  } else {
    while (request->next) {
      Request* const behind = request->next;
      sequence->queue.Remove(behind);
      Dismiss(behind, &cancelled_);
    }
    sequence->queue.Remove(request);
    waiting_--;
    while (backlogged && !sequence->queue.empty()) Dismiss(TakeFirst(sequence), &cancelled_);
  }
  counts_.cancelled++;
  sequence->ended = true;
  EndId(sequence, SequenceEnd::kCancelled, kUnknownTime);
  if (!sequence->waits() && !sequence->running) {
    Remove(sequence, SequenceEnd::kCancelled, kUnknownTime);
  }
  return true;
}

void SequenceScheduler::Drain(RequestChain* requests) {
  const auto drain = [&](Sequence* sequence) {
    if (sequence->candidate) {
      Withdraw(sequence);
      requests->Append(std::exchange(sequence->candidate, nullptr));
      waiting_--;
    }
    while (!sequence->queue.empty()) {
      requests->Append(TakeFirst(sequence));
      waiting_--;
    }
    sequence->ended = true;
    EndId(sequence, SequenceEnd::kFailed, kUnknownTime);
  };
  // The backlog comes last to run, and first here, so that it gets no slot.
  while (Sequence* waiting = backlog_.front()) {
    drain(waiting);
    Remove(waiting, SequenceEnd::kFailed, kUnknownTime);
  }
  slots_.ForEach([&](Sequence* sequence) {
    drain(sequence);
    if (!sequence->running) Remove(sequence, SequenceEnd::kFailed, kUnknownTime);
  });
  for (RequestQueue* unreported : {&cancelled_, &broken_}) {
    while (!unreported->empty()) {
      Request* const request = unreported->front();
      unreported->Remove(request);
      requests->Append(request);
    }
  }
}

void SequenceScheduler::Close(uint64_t now_ns) {
  closed_ = true;
  while (Sequence* one = idle_.front()) Remove(one, SequenceEnd::kEnded, now_ns);
}

// --- Instances that come and go.

void SequenceScheduler::AddInstance(uint32_t instance) {
  MakeRoomFor(instance);
  slots_.Open(instance);
  while (Sequence* next = backlog_.front()) {
    if (!slots_.any_free()) return;
    try {
      slots_.Reserve();
    } catch (const std::bad_alloc&) {
      return;  // It gets the slot of another sequence.
    }
    LeaveBacklog(next);
    next->slot = slots_.Take(next);
    Ready(next);
  }
}

SequenceFate SequenceScheduler::FateOf(const SequenceId& id) const {
  const SequenceEntry* const entry = ids_.Find(id);
  if (!entry) return SequenceFate::kUnknown;
  if (entry->live) return SequenceFate::kLive;
  return entry->end == SequenceEnd::kIdle ? SequenceFate::kIdled : SequenceFate::kEnded;
}

}  // namespace tritonts

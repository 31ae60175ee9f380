// The part of a sequence batcher that both strategies share (Triton: sequence_batching): which
// sequence a request belongs to, which sequences have slots, and when they end.
//
// Requests of a sequence run one after the other, in order, on one instance. A sequence begins with
// a request that has START and gets the free slot with the lowest index. If no slot is free, it
// waits in the backlog until the slot of another one is free. It ends
//   - when its last request, which has END, has run. The id is free as soon as that request comes;
//   - when no request of it waits or runs for max_sequence_idle_microseconds, counted from the end
//     of its last run. In the backlog this time does not run;
//   - when one of its waiting requests is cancelled. The requests behind that one are cancelled,
//     too, and those before it still run; in the backlog all are cancelled;
//   - in the backlog, when the shortest time-out of its requests is over;
//   - when its state could not be kept (sequence_state.h). The waiting requests fail;
//   - when the version closes, and no request of it is left.
// START on a live id does not end the sequence: the request runs behind the others in its slot.
//
// Instances may come and go. The sequences of one that goes stay in their slots until they end, and
// its free slots are given to nobody. The backlog gets the slots of a new one at once.
//
// Of an iterative model a request without an id is a sequence of its own. It ends when its request
// has run and was not rescheduled.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/scheduling/scheduler.h"
#include "engine/scheduling/sequence_policy.h"
#include "engine/sequences/sequence.h"
#include "engine/sequences/sequence_controls.h"
#include "engine/sequences/sequence_ids.h"
#include "engine/sequences/sequence_slots.h"
#include "engine/sequences/sequence_state.h"

namespace tritonts {

class SequenceScheduler : public Scheduler {
 public:
  ~SequenceScheduler() override;

  Status Enqueue(Request* request, uint64_t now_ns) override;
  void Expire(uint64_t now_ns, Expired* expired) override;
  void Finished(uint32_t /*instance*/, uint64_t /*now_ns*/) override {}
  void Ended(Sequence* sequences, uint64_t now_ns) override;
  bool Cancel(Request* request) override;
  void Drain(RequestChain* requests) override;
  void Close(uint64_t now_ns) override;
  void AddInstance(uint32_t instance) override;
  void RemoveInstance(uint32_t instance) override { slots_.Close(instance); }
  bool Holds(uint32_t instance) const override { return slots_.any_taken(instance); }
  size_t waiting() const override { return waiting_ + cancelled_.size() + broken_.size(); }
  bool timed() const override { return true; }
  bool binds() const override { return true; }
  SequenceCounts sequences() const override;
  SequenceFate FateOf(const SequenceId& id) const override;

 protected:
  // `instances` is how many instances take batches. Throws std::bad_alloc.
  SequenceScheduler(SequencePolicy policy, uint32_t instances, std::string model, Budget* budget);

  // A sequence in a slot has a request in its queue, and none that runs. Its state is the one that
  // the request gets.
  virtual void OnReady(Sequence* sequence) = 0;
  // Removes the request `candidate` of a sequence from the queue of its instance.
  virtual void Withdraw(Sequence* sequence) = 0;
  // Makes room for an instance of this number. Throws std::bad_alloc; then nothing has changed.
  virtual void MakeRoomFor(uint32_t instance) = 0;
  // The instance has no sequence any more that runs.
  virtual void OnRan(uint32_t instance) = 0;

  // Removes the first request of a sequence's queue.
  static Request* TakeFirst(Sequence* sequence);
  // A request of the sequence is in the batch.
  void Run(Sequence* sequence, Batch* batch);
  // Adds the tensors of a request, which is in this slot of the batch.
  void AddOverlays(uint32_t slot, const Request* request, const Sequence* sequence) {
    controls_.Add(slot, request, sequence, &overlays_);
    if (states_) states_->Add(slot, *sequence->state, &overlays_);
  }
  // The same for an empty slot, beside one of `like`.
  void AddEmpty(uint32_t slot, const Sequence& like) {
    controls_.Add(slot, nullptr, nullptr, &overlays_);
    if (states_) states_->AddZeros(slot, *like.state, &overlays_);
  }
  // Whether the states of two sequences can be in one batch.
  bool Alike(const Sequence& one, const Sequence& other) const {
    return !states_ || states_->Alike(*one.state, *other.state);
  }

  const SequencePolicy policy_;
  SequenceSlots slots_;
  const std::shared_ptr<SequenceStates> states_;  // null: the model has none
  OverlayList overlays_;                          // of the last batch
  size_t waiting_ = 0;                            // requests of all sequences

 private:
  Status Check(const Request& request) const;
  Status Unknown(const SequenceId& id, const SequenceEntry* entry, uint64_t now_ns) const;
  // Makes a sequence for the request. Throws std::bad_alloc; then, and if it is refused, nothing
  // has changed.
  Status Begin(Request* request, Sequence** sequence);
  // A sequence in a slot has a first request that may run.
  void Ready(Sequence* sequence);
  // Notes the time-out of a request in the backlog. Throws std::bad_alloc.
  void Limit(Sequence* sequence, uint64_t at_ns);
  // Moves a removed request to those that Expire reports.
  void Dismiss(Request* request, RequestQueue* to);
  // Frees the id of a sequence.
  void EndId(Sequence* sequence, SequenceEnd end, uint64_t now_ns);
  // A sequence has no request any more that waits or runs.
  void Rest(Sequence* sequence, uint64_t now_ns);
  // Removes a sequence that has no request, and gives its slot to the next one.
  void Remove(Sequence* sequence, SequenceEnd end, uint64_t now_ns);
  void LeaveBacklog(Sequence* sequence);
  // The state of a sequence could not be kept.
  void Break(Sequence* sequence, uint64_t now_ns);
  void Delete(Sequence* sequence);

  const std::string model_;
  const SequenceControls controls_;
  SequenceIds ids_;
  SequenceList backlog_{Sequence::List::kBacklog};
  SequenceList idle_{Sequence::List::kIdle};
  // The time-outs of the backlog.
  std::set<std::pair<uint64_t, Sequence*>> expiries_;
  RequestQueue cancelled_;  // not yet reported
  RequestQueue broken_;     // likewise
  SequenceCounts counts_;
  uint64_t last_generated_ = 0;
  bool closed_ = false;
};

}  // namespace tritonts

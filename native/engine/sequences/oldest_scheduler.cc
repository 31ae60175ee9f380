#include "engine/sequences/oldest_scheduler.h"

#include <utility>

namespace tritonts {

OldestScheduler::OldestScheduler(SequencePolicy policy, uint32_t instances, std::string model,
                                 Budget* budget)
    : SequenceScheduler(std::move(policy), instances, std::move(model), budget),
      rule_(policy_.dynamic),
      queues_(slots_.instances()) {}

void OldestScheduler::OnReady(Sequence* sequence) {
  sequence->candidate = TakeFirst(sequence);
  queues_[slots_.InstanceOf(sequence->slot)].Append(sequence->candidate);
}

void OldestScheduler::Withdraw(Sequence* sequence) {
  queues_[slots_.InstanceOf(sequence->slot)].Remove(sequence->candidate);
}

void OldestScheduler::CutAtOtherState(const std::vector<Request*>& listed,
                                      BatchChoice* choice) const {
  const Request* request = choice->first;
  for (size_t i = 0; i < choice->take; i++) {
    if (!choice->neighbours) request = listed[i];
    if (!Alike(*request->sequence().place, *choice->first->sequence().place)) {
      choice->take = i;
      choice->closed_by = ClosedBy::kShape;
      return;
    }
    request = request->next;
  }
}

void OldestScheduler::Next(uint32_t instance, uint64_t now_ns, Batch* batch) {
  RequestQueue* const queue = &queues_[instance];
  BatchChoice choice = rule_.Choose(queue->front(), instance, now_ns, &batch->members);
  if (states_) CutAtOtherState(batch->members, &choice);
  BatchRule::Take(choice, queue, &batch->members);
  batch->wake_at_ns = choice.wake_at_ns;
  batch->closed_by = choice.closed_by;
  if (batch->members.empty()) return;
  overlays_.Clear();
  for (uint32_t slot = 0; slot < batch->members.size(); slot++) {
    Request* const request = batch->members[slot];
    Sequence* const sequence = request->sequence().place;
    sequence->candidate = nullptr;
    AddOverlays(slot, request, sequence);
    Run(sequence, batch);
  }
  batch->overlays = overlays_.all();
  batch->keeper = states_;
}

}  // namespace tritonts

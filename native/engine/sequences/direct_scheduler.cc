#include "engine/sequences/direct_scheduler.h"

#include <utility>

namespace tritonts {

namespace {

constexpr uint64_t kRetryNs = 1'000'000;  // when there is no memory

}  // namespace

DirectScheduler::DirectScheduler(SequencePolicy policy, uint32_t instances, std::string model,
                                 Budget* budget)
    : SequenceScheduler(std::move(policy), instances, std::move(model), budget),
      running_(slots_.instances()) {}

void DirectScheduler::Next(uint32_t instance, uint64_t now_ns, Batch* batch) {
  if (running_[instance] || waiting_ == 0) return;
  const Request* oldest = nullptr;
  uint32_t ready = 0;
  uint32_t rows = 0;  // up to the highest slot with a request
  for (uint32_t index = 0; index < slots_.of_instance(); index++) {
    const Sequence* const sequence = slots_.At(instance, index);
    if (!sequence || sequence->queue.empty()) continue;
    const Request* const first = sequence->queue.front();
    if (!oldest || first->header->arrival_ns < oldest->header->arrival_ns) oldest = first;
    ready++;
    rows = index + 1;
  }
  if (!oldest) return;
  const auto share = static_cast<float>(ready) / static_cast<float>(slots_.of_instance());
  const uint64_t until_ns = oldest->header->arrival_ns + policy_.max_queue_delay_ns;
  const bool waits = policy_.max_queue_delay_ns > 0 && policy_.minimum_slot_utilization > 0;
  const bool late = waits && now_ns > until_ns;
  if (waits && !late && share < policy_.minimum_slot_utilization) {
    batch->wake_at_ns = until_ns + 1;
    return;
  }
  const std::vector<int64_t>& shape = oldest->header->shape_key;
  const Sequence& leader = *oldest->sequence().place;
  if (states_ && !states_->MakeZeros(*leader.state)) {
    batch->wake_at_ns = now_ns + kRetryNs;
    return;
  }
  overlays_.Clear();
  bool other_shape = false;
  for (uint32_t index = 0; index < rows; index++) {
    Sequence* const sequence = slots_.At(instance, index);
    const bool waiting = sequence && !sequence->queue.empty();
    const bool joins =
        waiting && sequence->queue.front()->header->shape_key == shape && Alike(*sequence, leader);
    other_shape = other_shape || (waiting && !joins);
    Request* const request = joins ? TakeFirst(sequence) : nullptr;
    batch->members.push_back(request);
    batch->empty_slots = batch->empty_slots || !request;
    if (joins) {
      AddOverlays(index, request, sequence);
      Run(sequence, batch);
    } else {
      AddEmpty(index, leader);
    }
  }
  batch->overlays = overlays_.all();
  batch->keeper = states_;
  batch->closed_by = other_shape                     ? ClosedBy::kShape
                     : ready == slots_.of_instance() ? ClosedBy::kFull
                     : late                          ? ClosedBy::kDelay
                     : waits                         ? ClosedBy::kPreferred
                                                     : ClosedBy::kNothingMore;
  running_[instance] = true;
}

}  // namespace tritonts

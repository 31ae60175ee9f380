// A scheduler for tests that uses all that a scheduler may do. It is a minimal sequence batcher:
//
//   slots            each request of a batch is in its sequence's slot; others are empty
//   overlays         control tensors, state
//   kept outputs     the next state
//   bound requests   a sequence stays on one instance
//   waiting          a batch waits for other slots until a time, and requests expire
//   closed_by        all reasons but kPriority, because sequences have no priority levels
//   ragged inputs    an empty slot has no elements
//   lack of memory   Next yields no batch, and is called again later
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/scheduling/scheduler.h"

namespace tritonts::test {

// The state of each sequence: one float.
class SlotStates final : public OutputKeeper {
 public:
  // Input 0 is the request's. Input 1 is whether the slot has a request, and input 2 its state.
  // Input 3 is, if input 0 is ragged, where the elements of each slot end, with a 0 before them: a
  // batch input, which the dispatcher adds.
  // Output 1 is the next state.
  static constexpr uint32_t kReady = 1;
  static constexpr uint32_t kState = 2;
  static constexpr uint32_t kEnds = 3;
  static constexpr uint32_t kNextState = 1;

  explicit SlotStates(uint32_t slots) : slots_(slots) {}

  std::span<const uint32_t> kept_outputs() const override { return {&kNextState, 1}; }
  void Keep(const Request& request, uint32_t slot,
            std::span<const OutputTensor> outputs) noexcept override {
    const std::lock_guard lock(mutex_);
    if (slot != request.header->priority % slots_) misplaced_++;
    for (const OutputTensor& output : outputs) {
      states_[request.header->priority] = *static_cast<const float*>(output.data);
      kept_++;
    }
  }
  float Of(uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    return states_[sequence];
  }
  // The number of outputs that were kept.
  size_t kept() {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  // The number of calls of Keep with another slot than the sequence's.
  size_t misplaced() {
    const std::lock_guard lock(mutex_);
    return misplaced_;
  }

 private:
  const uint32_t slots_;
  std::mutex mutex_;  // guards all below
  std::map<uint64_t, float> states_;
  size_t kept_ = 0;
  size_t misplaced_ = 0;
};

struct SlotOptions {
  uint32_t instances = 1;
  uint64_t delay_ns = 0;      // how long a request waits for requests in other slots
  uint32_t preferred = 0;     // a batch of so many requests does not wait; 0: only a full one
  bool ragged = false;        // input 0 is ragged
  bool lacks_memory = false;  // the first batch finds no memory for its overlays
};

// A request's priority is its sequence. Instance i has the sequences from i * slots on, each in a
// slot. Requests of a sequence run one after the other. A batch has the first request of each slot,
// up to the highest slot that has one. All are of the shape of the oldest request. A request may
// have a time-out.
class SlotScheduler final : public Scheduler {
 public:
  static constexpr uint64_t kRetryNs = 1'000'000;

  SlotScheduler(uint32_t slots, std::shared_ptr<SlotStates> states, SlotOptions options = {})
      : options_(options),
        states_(std::move(states)),
        slots_(slots),
        queues_(size_t{slots} * options.instances),
        held_(options.instances) {
    overlays_.reserve(size_t{4} * slots);
  }

  Status Enqueue(Request* request, uint64_t) override {
    const uint64_t sequence = request->header->priority;
    if (sequence >= queues_.size()) return Status::InvalidArg("there is no such sequence");
    queues_[sequence].push_back(request);
    request->bound = static_cast<uint32_t>(sequence) / slots_;
    request->queued = true;
    waiting_++;
    return Status::Ok();
  }
  void Expire(uint64_t now_ns, Expired* expired) override {
    for (std::deque<Request*>& queue : queues_) {
      for (size_t i = 0; i < queue.size();) {
        const uint64_t at = queue[i]->header->arrival_ns + queue[i]->timeout_ns();
        if (queue[i]->timeout_ns() > 0 && at <= now_ns) {
          expired->requests.push_back(queue[i]);
          Remove(queue[i]);
          continue;
        }
        if (queue[i]->timeout_ns() > 0) NoteWake(at, &expired->wake_at_ns);
        i++;
      }
    }
  }
  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override {
    const std::span<std::deque<Request*>> queues(queues_.data() + size_t{instance} * slots_,
                                                 slots_);
    const Request* const oldest = OldestOf(queues);
    if (!oldest || held_[instance]) return;
    const auto joins = [&](const std::deque<Request*>& queue) {
      return !queue.empty() && queue.front()->header->shape_key == oldest->header->shape_key;
    };
    const auto joining = std::count_if(queues.begin(), queues.end(), joins);
    const auto ready = std::count_if(queues.begin(), queues.end(),
                                     [](const auto& queue) { return !queue.empty(); });
    const uint64_t until_ns = oldest->header->arrival_ns + options_.delay_ns;
    if (joining == slots_) {
      batch->closed_by = ClosedBy::kFull;
    } else if (joining < ready) {
      batch->closed_by = ClosedBy::kShape;
    } else if (options_.preferred > 0 && joining >= options_.preferred) {
      batch->closed_by = ClosedBy::kPreferred;
    } else if (options_.delay_ns == 0) {
      batch->closed_by = ClosedBy::kNothingMore;
    } else if (now_ns >= until_ns) {
      batch->closed_by = ClosedBy::kDelay;
    } else {
      batch->wake_at_ns = until_ns;
      return;
    }
    size_t slots = slots_;
    while (!joins(queues[slots - 1])) slots--;
    const bool lacks = std::exchange(options_.lacks_memory, false);
    const BlockRef block = lacks ? BlockRef() : pool_.Acquire(kBytesOfSlot * slots);
    if (!block) {
      batch->wake_at_ns = now_ns + kRetryNs;
      return;
    }
    for (size_t slot = 0; slot < slots; slot++) {
      Request* const request = joins(queues[slot]) ? queues[slot].front() : nullptr;
      batch->members.push_back(request);
      batch->empty_slots = batch->empty_slots || !request;
      if (request) Remove(request);
    }
    Inject(*batch, oldest->input(0)->shape.size(), size_t{instance} * slots_, block);
    batch->overlays = overlays_;
    batch->keeper = states_;
    // A slot's next state is known only after its request has run.
    held_[instance] = true;
  }
  void Finished(uint32_t instance, uint64_t) override { held_[instance] = false; }
  bool Cancel(Request* request) override {
    if (!request->queued) return false;
    Remove(request);
    return true;
  }
  void Drain(RequestChain* requests) override {
    std::vector<Request*> all;
    for (auto& queue : queues_) all.insert(all.end(), queue.begin(), queue.end());
    std::stable_sort(all.begin(), all.end(), [](const Request* one, const Request* other) {
      return one->header->arrival_ns < other->header->arrival_ns;
    });
    for (Request* request : all) {
      Remove(request);
      requests->Append(request);
    }
  }
  size_t waiting() const override { return waiting_; }
  size_t slots() const override { return slots_; }

 private:
  // Of each slot: whether it is ready, and its state.
  static constexpr size_t kBytesOfSlot = 2 * sizeof(float);

  static void NoteWake(uint64_t at, uint64_t* wake_at_ns) {
    if (*wake_at_ns == 0 || at < *wake_at_ns) *wake_at_ns = at;
  }
  static const Request* OldestOf(std::span<const std::deque<Request*>> queues) {
    const Request* oldest = nullptr;
    for (const std::deque<Request*>& queue : queues) {
      if (queue.empty()) continue;
      const Request* const first = queue.front();
      if (!oldest || first->header->arrival_ns < oldest->header->arrival_ns) oldest = first;
    }
    return oldest;
  }
  void Remove(Request* request) {
    request->queued = false;
    waiting_ -= std::erase(queues_[request->header->priority], request);
  }
  // Makes the overlays of a batch of requests whose input 0 has `dims` dims.
  void Inject(const Batch& batch, size_t dims, size_t first_sequence, const BlockRef& block) {
    overlays_.clear();
    std::vector<int64_t> empty(dims, 0);  // input 0 of an empty slot
    empty[0] = 1;
    auto* value = static_cast<float*>(block->data());
    for (uint32_t slot = 0; slot < batch.members.size(); slot++) {
      const bool has = batch.members[slot] != nullptr;
      if (!has && options_.ragged) Add(slot, 0, empty, nullptr, BlockRef());
      *value = has ? 1 : 0;
      Add(slot, SlotStates::kReady, {1, 1}, value++, block);
      *value = has ? states_->Of(first_sequence + slot) : -1;
      Add(slot, SlotStates::kState, {1, 1}, value++, block);
    }
  }
  // Without `value`, the tensor has no elements.
  void Add(uint32_t slot, uint32_t index, const std::vector<int64_t>& shape, float* value,
           const BlockRef& block) {
    Overlay& overlay = overlays_.emplace_back();
    overlay.slot = slot;
    overlay.tensor.index = index;
    overlay.tensor.datatype = DataType::kFp32;
    overlay.tensor.of_one = true;
    overlay.tensor.shape = shape;
    overlay.tensor.first_chunks.push_back(
        {value, value ? sizeof(float) : 0, MemoryKind::kHost, 0, block});
  }

  SlotOptions options_;
  const std::shared_ptr<SlotStates> states_;
  const uint32_t slots_;
  std::vector<std::deque<Request*>> queues_;  // by sequence
  std::vector<char> held_;                    // by instance
  std::vector<Overlay> overlays_;
  BlockPool pool_{1 << 16};
  size_t waiting_ = 0;
};

}  // namespace tritonts::test

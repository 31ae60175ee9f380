// A scheduler for tests that uses everything that a batch can carry: slots, overlays and kept
// outputs. It is a minimal sequence batcher.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/scheduling/scheduler.h"

namespace tritonts::test {

// The state of each slot: one float.
class SlotStates final : public OutputKeeper {
 public:
  // Input 1 is whether the slot has a request, and input 2 its state. Output 1 is its next state.
  static constexpr uint32_t kReady = 1;
  static constexpr uint32_t kState = 2;
  static constexpr uint32_t kNextState = 1;

  bool Keeps(uint32_t index) const override { return index == kNextState; }
  void Keep(const Request&, uint32_t slot,
            std::span<const OutputTensor> outputs) noexcept override {
    const std::lock_guard lock(mutex_);
    for (const OutputTensor& output : outputs) {
      states_[slot] = *static_cast<const float*>(output.data);
      kept_++;
    }
  }
  float Of(uint32_t slot) {
    const std::lock_guard lock(mutex_);
    return states_[slot];
  }
  // The number of outputs that were kept.
  size_t kept() {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::map<uint32_t, float> states_;
  size_t kept_ = 0;
};

// A request's priority selects its slot, and requests of one slot run one after the other. A batch
// has the first request of each slot, up to the highest slot that has one.
class SlotScheduler final : public Scheduler {
 public:
  SlotScheduler(uint32_t slots, std::shared_ptr<SlotStates> states)
      : states_(std::move(states)), queues_(slots) {}

  Status Enqueue(Request* request, uint64_t) override {
    request->queued = true;
    queues_.at(request->header->priority).push_back(request);
    waiting_++;
    return Status::Ok();
  }
  void Expire(uint64_t, Expired*) override {}
  void Next(uint32_t, uint64_t, Batch* batch) override {
    if (waiting_ == 0 || held_) return;
    size_t slots = queues_.size();
    while (queues_[slots - 1].empty()) slots--;
    overlays_.clear();
    for (uint32_t slot = 0; slot < slots; slot++) {
      Request* const request = queues_[slot].empty() ? nullptr : queues_[slot].front();
      batch->members.push_back(request);
      Inject(slot, SlotStates::kReady, request ? 1 : 0);
      Inject(slot, SlotStates::kState, request ? states_->Of(slot) : -1);
      if (!request) {
        batch->empty_slots = true;
        continue;
      }
      request->queued = false;
      queues_[slot].pop_front();
      waiting_--;
    }
    batch->overlays = overlays_;
    batch->keeper = states_;
    batch->closed_by = ClosedBy::kFull;
    // A slot's next state is known only after its request has run.
    held_ = true;
  }
  void Finished(uint32_t, uint64_t) override { held_ = false; }
  bool Cancel(Request* request) override {
    if (!request->queued) return false;
    request->queued = false;
    waiting_--;
    return std::erase(queues_.at(request->header->priority), request) > 0;
  }
  void Drain(RequestChain* requests) override {
    for (auto& queue : queues_) {
      for (Request* request : queue) {
        request->queued = false;
        requests->Append(request);
      }
      queue.clear();
    }
    waiting_ = 0;
  }
  size_t waiting() const override { return waiting_; }
  size_t slots() const override { return queues_.size(); }

 private:
  void Inject(uint32_t slot, uint32_t index, float value) {
    const BlockRef block = pool_.Acquire(sizeof(value));
    *static_cast<float*>(block->data()) = value;
    Overlay& overlay = overlays_.emplace_back();
    overlay.slot = slot;
    overlay.tensor.index = index;
    overlay.tensor.datatype = DataType::kFp32;
    overlay.tensor.of_one = true;
    overlay.tensor.shape = {1, 1};
    overlay.tensor.first_chunks.push_back(
        {block->data(), sizeof(value), MemoryKind::kHost, 0, block});
  }

  const std::shared_ptr<SlotStates> states_;
  std::vector<std::deque<Request*>> queues_;
  std::vector<Overlay> overlays_;
  BlockPool pool_{1 << 16};
  size_t waiting_ = 0;
  bool held_ = false;
};

}  // namespace tritonts::test

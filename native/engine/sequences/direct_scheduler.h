// The direct strategy: a sequence's slot is its row in every batch of its instance.
//
// When the instance has no batch that runs, its next batch has one request of each slot, from slot
// 0 to the highest slot in which a request waits. Slots without a request are empty, and so are
// those whose request or state has another shape than that of the request that has waited longest.
// With both minimum_slot_utilization and max_queue_delay_microseconds, the batch waits until that
// share of slots has requests, or one has waited longer than the delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sequences/sequence_scheduler.h"

namespace tritonts {

class DirectScheduler final : public SequenceScheduler {
 public:
  DirectScheduler(SequencePolicy policy, uint32_t instances, std::string model, Budget* budget);

  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override;
  size_t slots() const override { return slots_.of_instance(); }

 private:
  void OnReady(Sequence* /*sequence*/) override {}
  void Withdraw(Sequence* /*sequence*/) override {}
  void MakeRoomFor(uint32_t instance) override {
    if (instance >= running_.size()) running_.resize(size_t{instance} + 1);
  }
  void OnRan(uint32_t instance) override { running_[instance] = false; }

  std::vector<char> running_;  // by instance: whether a batch of it runs
};

}  // namespace tritonts

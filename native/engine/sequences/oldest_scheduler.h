// The oldest strategy: each instance batches the next requests of its sequences, like the dynamic
// batcher, and a sequence has no fixed row.
//
// A sequence has at most one request in the instance's queue or in a run. The next one joins the
// queue when the run of the one before has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/request/request_queue.h"
#include "engine/scheduling/batch_rule.h"
#include "engine/sequences/sequence_scheduler.h"

namespace tritonts {

class OldestScheduler final : public SequenceScheduler {
 public:
  OldestScheduler(SequencePolicy policy, uint32_t instances, std::string model, Budget* budget);

  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override;

 private:
  // Cuts a batch before the first request whose sequence has a state of another shape.
  void CutAtOtherState(const std::vector<Request*>& listed, BatchChoice* choice) const;
  void OnReady(Sequence* sequence) override;
  void Withdraw(Sequence* sequence) override;
  void MakeRoomFor(uint32_t instance) override {
    if (instance >= queues_.size()) queues_.resize(size_t{instance} + 1);
  }
  void OnRan(uint32_t /*instance*/) override {}

  const BatchRule rule_;
  std::vector<RequestQueue> queues_;  // by instance
};

}  // namespace tritonts

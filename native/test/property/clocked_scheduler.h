// A scheduler that uses the test's clock instead of the caller's. It checks that its owner asks
// only about free instances.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "engine/scheduling/scheduler.h"

namespace tritonts::test {

// Numbers of instances are lower.
constexpr uint32_t kMostInstances = 6;

// State shared by the test and the scheduler.
struct SchedulerView {
  std::atomic<uint64_t> now_ns{0};
  std::atomic<size_t> waiting{0};
  std::atomic<uint32_t> occupied{0};                     // one bit per instance
  std::atomic<uint32_t> broken{0};                       // violations of rules
  std::atomic<uint64_t> kept{0};                         // number of kept outputs
  std::atomic<ClosedBy> closed_by[kMostInstances] = {};  // of each instance's last batch
};

// Keeps output 1.
class CountingKeeper final : public OutputKeeper {
 public:
  explicit CountingKeeper(std::shared_ptr<SchedulerView> view) : view_(std::move(view)) {}
  std::span<const uint32_t> kept_outputs() const override {
    static constexpr uint32_t kKept[] = {1};
    return kKept;
  }
  void Keep(const Request& request, uint32_t,
            std::span<const OutputTensor> outputs) noexcept override {
    if (request.header->null_row || outputs.size() != 1 || outputs[0].index != 1) view_->broken++;
    view_->kept++;
  }

 private:
  const std::shared_ptr<SchedulerView> view_;
};

class ClockedScheduler final : public Scheduler {
 public:
  // `adds`: a batch with an odd number of requests gets an empty slot at its end, input 1 is each
  // slot's number, and output 1 is kept.
  ClockedScheduler(std::unique_ptr<Scheduler> inner, std::shared_ptr<SchedulerView> view, bool adds)
      : inner_(std::move(inner)), view_(std::move(view)) {
    if (adds) keeper_ = std::make_shared<CountingKeeper>(view_);
  }

  Status Enqueue(Request* request, uint64_t) override {
    Status status = inner_->Enqueue(request, view_->now_ns);
    Note();
    return status;
  }
  size_t EnqueueSome(std::span<Request* const> requests, uint64_t, Status* refused) override {
    const size_t taken = inner_->EnqueueSome(requests, view_->now_ns, refused);
    Note();
    return taken;
  }
  void Expire(uint64_t, Expired* expired) override {
    inner_->Expire(view_->now_ns, expired);
    Note();
  }
  void Next(uint32_t instance, uint64_t, Batch* batch) override {
    if (view_->occupied & 1u << instance) view_->broken++;
    inner_->Next(instance, view_->now_ns, batch);
    if (!batch->members.empty()) {
      view_->occupied |= 1u << instance;
      view_->closed_by[instance] = batch->closed_by;
    }
    if (keeper_ && !batch->members.empty()) AddTo(batch);
    Note();
  }
  void Finished(uint32_t instance, uint64_t) override {
    if (!(view_->occupied & 1u << instance)) view_->broken++;
    view_->occupied &= ~(1u << instance);
    inner_->Finished(instance, view_->now_ns);
  }
  void Ended(Sequence* sequences, uint64_t) override { inner_->Ended(sequences, view_->now_ns); }
  void Close(uint64_t) override { inner_->Close(view_->now_ns); }
  void AddInstance(uint32_t instance) override {
    inner_->AddInstance(instance);
    Note();
  }
  void RemoveInstance(uint32_t instance) override { inner_->RemoveInstance(instance); }
  bool Holds(uint32_t instance) const override { return inner_->Holds(instance); }
  bool timed() const override { return inner_->timed(); }
  bool binds() const override { return inner_->binds(); }
  SequenceCounts sequences() const override { return inner_->sequences(); }
  bool Cancel(Request* request) override {
    const bool waited = inner_->Cancel(request);
    Note();
    return waited;
  }
  void Drain(RequestChain* requests) override {
    inner_->Drain(requests);
    Note();
  }
  size_t waiting() const override { return inner_->waiting(); }
  size_t slots() const override { return keeper_ ? 1 : inner_->slots(); }

 private:
  void Note() { view_->waiting = inner_->waiting(); }
  void AddTo(Batch* batch) {
    if (batch->members.size() % 2 == 1) {
      batch->members.push_back(nullptr);
      batch->empty_slots = true;
    }
    overlays_.resize(batch->members.size());
    for (uint32_t slot = 0; slot < overlays_.size(); slot++) {
      const BlockRef block = pool_.Acquire(sizeof(slot));
      *static_cast<uint32_t*>(block->data()) = slot;
      InputTensor& tensor = overlays_[slot].tensor;
      overlays_[slot].slot = slot;
      tensor.index = 1;
      tensor.datatype = DataType::kUint32;
      tensor.of_one = true;
      tensor.shape = {1, 1};
      tensor.first_chunks.clear();
      tensor.first_chunks.push_back({block->data(), sizeof(slot), MemoryKind::kHost, 0, block});
    }
    batch->overlays = overlays_;
    batch->keeper = keeper_;
  }

  const std::unique_ptr<Scheduler> inner_;
  const std::shared_ptr<SchedulerView> view_;
  std::shared_ptr<OutputKeeper> keeper_;  // null: no additions
  std::vector<Overlay> overlays_;
  BlockPool pool_{1 << 12};
};

}  // namespace tritonts::test

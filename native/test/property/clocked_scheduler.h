// A scheduler by the clock of a test instead of the caller's. It checks that its owner asks about
// free instances only.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "engine/scheduling/scheduler.h"

namespace tritonts::test {

// What the test and the scheduler tell each other.
struct SchedulerView {
  std::atomic<uint64_t> now_ns{0};
  std::atomic<size_t> waiting{0};
  std::atomic<uint32_t> occupied{0};  // a bit for each instance
  std::atomic<uint32_t> broken{0};    // rules
};

class ClockedScheduler final : public Scheduler {
 public:
  ClockedScheduler(std::unique_ptr<Scheduler> inner, std::shared_ptr<SchedulerView> view)
      : inner_(std::move(inner)), view_(std::move(view)) {}

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
    if (!batch->members.empty()) view_->occupied |= 1u << instance;
    Note();
  }
  void Finished(uint32_t instance, uint64_t) override {
    if (!(view_->occupied & 1u << instance)) view_->broken++;
    view_->occupied &= ~(1u << instance);
    inner_->Finished(instance, view_->now_ns);
  }
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

 private:
  void Note() { view_->waiting = inner_->waiting(); }

  const std::unique_ptr<Scheduler> inner_;
  const std::shared_ptr<SchedulerView> view_;
};

}  // namespace tritonts::test

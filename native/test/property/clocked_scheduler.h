// The dynamic batcher, by the clock of a test instead of the caller's, with what other schedulers
// do besides: requests expire, and a queue that is full refuses them. It checks that its owner asks
// about free instances only.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "engine/scheduling/dynamic_scheduler.h"

namespace tritonts::test {

// What the test and the scheduler tell each other.
struct SchedulerView {
  std::atomic<uint64_t> now_ns{0};
  std::atomic<size_t> waiting{0};
  std::atomic<uint32_t> occupied{0};  // a bit for each instance
  std::atomic<uint32_t> broken{0};    // rules
};

// When requests of a header expire; 0: never. It is the sink's own field, and the sink the test's.
inline uint64_t& ExpiresAt(RequestHeader& header) {
  return header.accounted_bytes;
}

class ClockedScheduler final : public Scheduler {
 public:
  ClockedScheduler(DynamicPolicy policy, uint32_t max_queue, std::shared_ptr<SchedulerView> view)
      : inner_(std::move(policy)), max_queue_(max_queue), view_(std::move(view)) {}

  Status Enqueue(Request* request, uint64_t) override {
    if (max_queue_ > 0 && queue_.size() >= max_queue_) {
      return Status::Unavailable("the queue is full");
    }
    Status status = inner_.Enqueue(request, view_->now_ns);
    queue_.push_back(request);
    Note();
    return status;
  }
  void Expire(uint64_t, Decision* decision) override {
    for (Request* request : std::vector<Request*>(queue_)) {
      const uint64_t at = ExpiresAt(*request->header);
      if (at == 0) continue;
      if (at > view_->now_ns) {
        if (decision->wake_at_ns == 0 || at < decision->wake_at_ns) decision->wake_at_ns = at;
      } else if (Cancel(request)) {
        decision->expire.push_back(request);
      }
    }
  }
  void Next(uint32_t instance, uint64_t, Decision* decision) override {
    if (view_->occupied & 1u << instance) view_->broken++;
    inner_.Next(instance, view_->now_ns, decision);
    for (Request* request : decision->take) std::erase(queue_, request);
    if (!decision->take.empty()) view_->occupied |= 1u << instance;
    Note();
  }
  void Finished(uint32_t instance, uint64_t) override {
    if (!(view_->occupied & 1u << instance)) view_->broken++;
    view_->occupied &= ~(1u << instance);
    inner_.Finished(instance, view_->now_ns);
  }
  bool Cancel(Request* request) override {
    if (!inner_.Cancel(request)) return false;
    std::erase(queue_, request);
    Note();
    return true;
  }
  void Drain(RequestChain* requests) override {
    inner_.Drain(requests);
    queue_.clear();
    Note();
  }
  size_t waiting() const override { return inner_.waiting(); }

 private:
  void Note() { view_->waiting = inner_.waiting(); }

  DynamicScheduler inner_;
  const uint32_t max_queue_;
  const std::shared_ptr<SchedulerView> view_;
  std::vector<Request*> queue_;
};

}  // namespace tritonts::test

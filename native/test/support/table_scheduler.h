// A scheduler for tests: first in, first out, one request per batch, with exceptions that a test
// chooses.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/scheduling/scheduler.h"

namespace tritonts::test {

// `asked` lists the instances for which it was asked, in order. Guarded by its owner's lock.
class TableScheduler final : public Scheduler {
 public:
  // Instances that get only requests bound to them.
  std::vector<uint32_t> barren;
  // If not 0, requests expire this long after their arrival.
  uint64_t lifetime_ns = 0;
  // Requests with this many rows are refused.
  uint32_t refused_rows = 0;
  std::vector<uint32_t> asked;
  std::vector<uint32_t> finished;

  Status Enqueue(Request* request, uint64_t) override {
    if (refused_rows > 0 && request->header->batch_size == refused_rows) {
      return Status::Unavailable(Reason::kNotReady,
                                 "no room for " + std::to_string(refused_rows) + " rows");
    }
    request->queued = true;
    queue_.push_back(request);
    return Status::Ok();
  }
  void Expire(uint64_t now_ns, Expired* expired) override {
    if (lifetime_ns == 0) return;
    std::erase_if(queue_, [&](Request* request) {
      const uint64_t at = request->header->arrival_ns + lifetime_ns;
      if (at > now_ns) {
        if (expired->wake_at_ns == 0 || at < expired->wake_at_ns) expired->wake_at_ns = at;
        return false;
      }
      request->queued = false;
      expired->requests.push_back(request);
      return true;
    });
  }
  void Next(uint32_t instance, uint64_t, Batch* batch) override {
    asked.push_back(instance);
    const bool poor = std::find(barren.begin(), barren.end(), instance) != barren.end();
    for (auto one = queue_.begin(); one != queue_.end(); ++one) {
      const uint32_t bound = (*one)->bound;
      if (bound == Request::kUnbound ? poor : bound != instance) continue;
      (*one)->queued = false;
      batch->members.push_back(*one);
      queue_.erase(one);
      return;
    }
  }
  void Finished(uint32_t instance, uint64_t) override { finished.push_back(instance); }
  bool Cancel(Request* request) override {
    if (!request->queued) return false;
    request->queued = false;
    return std::erase(queue_, request) > 0;
  }
  void Drain(RequestChain* requests) override {
    for (Request* request : queue_) {
      request->queued = false;
      requests->Append(request);
    }
    queue_.clear();
  }
  size_t waiting() const override { return queue_.size(); }

 private:
  std::vector<Request*> queue_;
};

}  // namespace tritonts::test

// A gate for tests.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "engine/scheduling/gate.h"

namespace tritonts::test {

// Admits a limited number of instances at a time, in the order in which they ask.
class CountingGate final : public Gate {
 public:
  explicit CountingGate(size_t most) : most_(most) {}

  Status Register(const std::shared_ptr<GateTicket>& ticket, const GateClaim&) override {
    const std::lock_guard lock(mutex_);
    known_.insert(ticket.get());
    return Status::Ok();
  }
  void Unregister(const std::shared_ptr<GateTicket>& ticket) override {
    Leave(ticket);
    const std::lock_guard lock(mutex_);
    known_.erase(ticket.get());
  }
  bool Enter(const std::shared_ptr<GateTicket>& ticket) override {
    const std::lock_guard lock(mutex_);
    if (ticket->state != GateTicket::State::kOutside) broken_++;
    entered_++;
    if (inside_ < most_ && line_.empty()) {
      inside_++;
      ticket->state = GateTicket::State::kInside;
      return true;
    }
    ticket->state = GateTicket::State::kWaiting;
    line_.push_back(ticket);
    return false;
  }
  void Leave(const std::shared_ptr<GateTicket>& ticket) override {
    const std::lock_guard lock(mutex_);
    if (ticket->state == GateTicket::State::kWaiting) std::erase(line_, ticket);
    if (ticket->state == GateTicket::State::kInside) inside_--;
    ticket->state = GateTicket::State::kOutside;
  }
  void Admit(GateTickets* let_in) override {
    const std::lock_guard lock(mutex_);
    while (inside_ < most_ && !line_.empty()) {
      line_.front()->state = GateTicket::State::kInside;
      let_in->Append(line_.front());
      line_.pop_front();
      inside_++;
    }
  }
  size_t inside() {
    const std::lock_guard lock(mutex_);
    return inside_;
  }
  size_t waiting() {
    const std::lock_guard lock(mutex_);
    return line_.size();
  }
  // The number of instances that are registered.
  size_t known() {
    const std::lock_guard lock(mutex_);
    return known_.size();
  }
  // The number of requests to enter by instances that were not outside.
  size_t broken() {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  // The number of requests to enter.
  size_t entered() {
    const std::lock_guard lock(mutex_);
    return entered_;
  }

 private:
  const size_t most_;
  std::mutex mutex_;  // guards all below
  std::set<const GateTicket*> known_;
  size_t inside_ = 0;
  size_t entered_ = 0;
  size_t broken_ = 0;
  std::deque<std::shared_ptr<GateTicket>> line_;
};

}  // namespace tritonts::test

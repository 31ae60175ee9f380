// What a batch passes between its decision and its start (Triton: the rate limiter).
//
// Versions that share a gate share what it counts, so there is one for a server or for the process.
// An instance that got a batch asks to enter, once for each batch, inline runs included. If it may
// not, the batch waits in the instance, and the gate tells the instance's version later that it is
// in. When the instance is free again it leaves, and that may let others in.
//
//   outside --Enter--> inside --Leave--> outside
//      |                  ^
//      '---> waiting -----'  another one leaves
//
// A gate has a lock of its own, and calls nobody with it. Versions call Enter and Leave with their
// locks. What Leave let in is told without any lock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tritonts {

// Who is told that its batch may start. Any thread calls it, with no lock held.
class GateVisitor {
 public:
  virtual ~GateVisitor() = default;
  // Instance `instance` is in.
  virtual void OnGateOpen(uint32_t instance) noexcept = 0;
};

// An instance at a gate. Its version makes it with the instance, and sets `visitor` and `instance`.
// The rest is the gate's, and is guarded by its lock.
struct GateTicket {
  std::weak_ptr<GateVisitor> visitor;
  uint32_t instance = 0;

  enum class State : uint8_t { kOutside, kWaiting, kInside };
  State state = State::kOutside;
  std::shared_ptr<GateTicket> next;  // link of whichever list it is in
};

// Tickets that were let in and whose versions are to be told. A list, because it must not allocate.
class GateTickets {
 public:
  bool empty() const { return !first_; }
  void Append(std::shared_ptr<GateTicket> ticket) {
    GateTicket* const added = ticket.get();
    (last_ ? last_->next : first_) = std::move(ticket);
    last_ = added;
  }
  std::shared_ptr<GateTicket> Pop() {
    std::shared_ptr<GateTicket> ticket = std::move(first_);
    first_ = std::move(ticket->next);
    if (!first_) last_ = nullptr;
    return ticket;
  }
  // Tells the versions, those that are still there. With no lock held.
  void Tell() {
    while (!empty()) {
      const std::shared_ptr<GateTicket> ticket = Pop();
      if (const auto visitor = ticket->visitor.lock()) visitor->OnGateOpen(ticket->instance);
    }
  }

 private:
  std::shared_ptr<GateTicket> first_;
  GateTicket* last_ = nullptr;
};

class Gate {
 public:
  virtual ~Gate() = default;
  // Whether an instance that is outside may start its batch now. False: it waits, and its version
  // is told when it is in. Any thread may call it. Does not throw.
  virtual bool Enter(const std::shared_ptr<GateTicket>& ticket) = 0;
  // An instance's batch is over, or will not start: it leaves, or stops waiting. Appends those that
  // are in because of that. Nothing happens where it is outside. Any thread may call it. Does not
  // throw.
  virtual void Leave(const std::shared_ptr<GateTicket>& ticket, GateTickets* let_in) = 0;
};

}  // namespace tritonts

// Admission of a batch between its selection and its start (Triton: the rate limiter).
//
// Versions that share a gate share the resources that it counts, so there is one gate for a server
// or for the process. An instance with a batch asks to enter, once for each batch, inline runs
// included. If it may not enter, the batch waits in the instance, and the gate later tells the
// instance's version that it is inside. When the instance is free again it leaves, which may let
// others in.
//
//   outside --Enter--> inside --Leave--> outside
//      |                  ^
//      '---> waiting -----'  another one leaves
//
// A gate has its own lock and makes no calls while it holds the lock. Versions call Enter and Leave
// with their own locks held. Versions whose instances were let in by Leave are told without any
// lock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tritonts {

// A version, which is told that its batch may start. Called on any thread, with no lock held.
class GateVisitor {
 public:
  virtual ~GateVisitor() = default;
  // Instance `instance` is inside.
  virtual void OnGateOpen(uint32_t instance) noexcept = 0;
};

// An instance at a gate. Its version creates it with the instance, and sets `visitor` and
// `instance`. The gate's lock guards the other fields.
struct GateTicket {
  std::weak_ptr<GateVisitor> visitor;
  uint32_t instance = 0;

  enum class State : uint8_t { kOutside, kWaiting, kInside };
  State state = State::kOutside;
  std::shared_ptr<GateTicket> next;  // link of the list that the ticket is in
};

// Tickets that were let in and whose versions have yet to be told. A linked list, so that it does
// not allocate.
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
  // Tells the versions that still exist. Called with no lock held.
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
  // is told when it is inside. Thread-safe. Does not throw.
  virtual bool Enter(const std::shared_ptr<GateTicket>& ticket) = 0;
  // An instance's batch has ended, or will not start: the instance leaves, or stops waiting.
  // Appends the instances that this lets in to `let_in`. No effect if the instance is outside.
  // Thread-safe. Does not throw.
  virtual void Leave(const std::shared_ptr<GateTicket>& ticket, GateTickets* let_in) = 0;
};

}  // namespace tritonts

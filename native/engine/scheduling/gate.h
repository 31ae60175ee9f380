// Admission of a batch between its selection and its start (Triton: the rate limiter).
//
// Versions that share a gate share the resources that it counts, so there is one gate for a server
// or for the process. An instance with a batch asks to enter, once for each batch, inline runs
// included. If it may not enter, the batch waits in the instance, and the gate later tells the
// instance's version that it is inside. When the instance is free again it leaves. Then its version
// gives it its next batch, if there is one, and only then the gate lets others in. So an instance
// with more batches competes with those that wait.
//
//   outside --Enter--> inside --Leave--> outside
//      |                  ^
//      '---> waiting -----'  Admit, after another one has left
//
// A gate has its own lock and makes no calls while it holds the lock. Versions call Enter and Leave
// with their own locks held, and Admit without.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace tritonts {

// A number of units of a resource, which an instance has from the start of a batch to its end.
struct ResourceNeed {
  std::string name;
  bool global = false;  // false: each device has units of its own
  uint64_t count = 0;
};

// What an instance needs of a gate (Triton: ModelRateLimiter).
struct GateClaim {
  std::vector<ResourceNeed> resources;
  uint32_t priority = 0;  // 0: as 1. An instance with a priority of N comes in 1/N as often
  int device = 0;         // the CPU is device 0, too
};

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
  // Makes an instance known, which is outside then. Called before any other function with its
  // ticket. INVALID_ARG: its claim can never be met; then the instance stays unknown. Thread-safe.
  // Throws std::bad_alloc.
  virtual Status Register(const std::shared_ptr<GateTicket>& ticket, const GateClaim& claim) = 0;
  // Forgets an instance, which leaves first. Admit is to be called afterwards. No effect if the
  // instance is unknown. Thread-safe. Does not throw.
  virtual void Unregister(const std::shared_ptr<GateTicket>& ticket) = 0;
  // Whether an instance that is outside may start its batch now. False: it waits, and its version
  // is told when it is inside. Thread-safe. Does not throw.
  virtual bool Enter(const std::shared_ptr<GateTicket>& ticket) = 0;
  // An instance's batch has ended, or will not start: the instance leaves, or stops waiting. Admit
  // is to be called afterwards. No effect if the instance is outside. Thread-safe. Does not throw.
  virtual void Leave(const std::shared_ptr<GateTicket>& ticket) = 0;
  // Lets in those that wait and may enter now, and appends them to `let_in`. Thread-safe. Does not
  // throw.
  virtual void Admit(GateTickets* let_in) = 0;
  // The same, and tells their versions. Called with no lock held.
  void AdmitAndTell() {
    GateTickets let_in;
    Admit(&let_in);
    let_in.Tell();
  }
};

}  // namespace tritonts

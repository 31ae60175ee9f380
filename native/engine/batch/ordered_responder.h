// Delivers a run's responses in their version's order: at once, or held until it is their turn.
//
// A run owns it. The order (response_order.h) refers to it from Join until it has passed the run,
// for which the run has a hold. Any thread that holds the run, without its lock, unless a comment
// names another rule. Nothing of it is used where the version keeps no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/batch/delivery.h"
#include "engine/batch/output_memory.h"
#include "engine/batch/output_places.h"
#include "engine/batch/responder.h"
#include "engine/batch/response_account.h"
#include "engine/batch/response_order.h"
#include "engine/batch/run_clock.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_life.h"
#include "engine/batch/run_members.h"

namespace tritonts {

class OrderedResponder final : private OrderedRun {
 public:
  OrderedResponder(RunMembers* members, RunClock* clock, ResponseAccount* account,
                   const OutputMemory* memory, OutputPlaces* places, Responder* responder,
                   RunLife* life)
      : members_(members),
        clock_(clock),
        account_(account),
        memory_(memory),
        places_(places),
        responder_(responder),
        life_(life) {}

  // --- With the version's lock.
  // Makes room for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) {
    ReservePlaces(requests);
    lost_.reserve(requests);
  }
  // The run's requests get their places, behind those of all runs or right behind `behind`.
  void Join(const RunContext* context, OrderedResponder* behind);
  // Gives them back, for a run that never began.
  void Leave();
  // These requests are in other runs, which have their places.
  void SkipAll(std::span<Request* const> requests);

  // Delivers responses, maybe later.
  void Deliver(Delivery* delivery);
  // Queues a request again that is done here, behind its earlier responses.
  void Requeue(uint32_t position);
  // Without memory to hold responses each request ends with an error, in its turn. The caller
  // refers to the run. Called with the lock, which it releases.
  void RespondWithoutMemory(uint32_t request, const Status& status, RunMembers::Lock* lock);

 private:
  // The order calls these.
  void Give(OrderedResponses* responses, size_t first, size_t count) override;
  void GaveAll(OrderedResponses* responses) override;
  void TakeTurn(uint32_t position) override;
  void Passed() override;

  // Makes a delivery one that stays valid when the call that it is made in has returned.
  void Keep(Delivery* delivery);
  void KeepOutputs(Delivery* delivery);

  RunMembers* const members_;
  RunClock* const clock_;
  ResponseAccount* const account_;
  const OutputMemory* const memory_;
  OutputPlaces* const places_;
  Responder* const responder_;
  RunLife* const life_;
  const RunContext* context_ = nullptr;
  std::vector<Status> lost_;  // by position: what is said in its turn; the run's lock
};

}  // namespace tritonts

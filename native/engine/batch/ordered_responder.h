// Delivers a run's responses in the order of the version's requests: at once, or held until their
// turn.
//
// Owned by a run. The order (response_order.h) refers to this object from Join until the run has
// passed; the run has a hold for that. Any thread that holds the run may call it, without the run's
// lock, unless stated otherwise. Unused if the version keeps no order.
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

  // --- Under the version's lock.
  // Reserves space for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) {
    ReservePlaces(requests);
    lost_.reserve(requests);
  }
  // Adds the run's requests to the order, behind those of all runs or directly behind those of
  // `behind`.
  void Join(const RunContext* context, OrderedResponder* behind);
  // Removes a run that never began from the order.
  void Leave();
  // Skips requests that were moved to other runs, which have places for them.
  void SkipAll(std::span<Request* const> requests);

  // Delivers responses now, or when their turn comes.
  void Deliver(Delivery* delivery);
  // Queues a request again, which is done in this run, after its earlier responses were delivered.
  void Requeue(uint32_t position);
  // Ends each request with an error, in its turn, without memory to hold responses. The caller
  // holds a reference to the run. Called with the run's lock, which it releases.
  void RespondWithoutMemory(uint32_t request, const Status& status, RunMembers::Lock* lock);

 private:
  // Called by the order.
  void Give(OrderedResponses* responses, size_t first, size_t count) override;
  void GaveAll(OrderedResponses* responses) override;
  void TakeTurn(uint32_t position) override;
  void Passed() override;

  // Makes a delivery independent of memory that is valid only during the call that made it.
  void MakeIndependent(Delivery* delivery);
  void HoldOutputs(Delivery* delivery);

  RunMembers* const members_;
  RunClock* const clock_;
  ResponseAccount* const account_;
  const OutputMemory* const memory_;
  OutputPlaces* const places_;
  Responder* const responder_;
  RunLife* const life_;
  const RunContext* context_ = nullptr;
  std::vector<Status>
      lost_;  // by position: the error to deliver in its turn; guarded by the run's lock
};

}  // namespace tritonts

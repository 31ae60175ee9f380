// Makes the responses of a run from what was declared, and delivers them to their sinks.
//
// A run owns it. Its functions say whether they are called with the run's lock; sinks and copiers
// are called without it. Any thread that holds the run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend.h"
#include "engine/batch/batch_additions.h"
#include "engine/batch/delivery.h"
#include "engine/batch/output_memory.h"
#include "engine/batch/response_account.h"
#include "engine/batch/run_clock.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_life.h"
#include "engine/batch/run_members.h"
#include "engine/batch/run_outputs.h"

namespace tritonts {

class Responder {
 public:
  Responder(RunMembers* members, RunClock* clock, RunOutputs* outputs, ResponseAccount* account,
            const BatchAdditions* additions, const OutputMemory* memory, RunLife* life)
      : members_(members),
        clock_(clock),
        outputs_(outputs),
        account_(account),
        additions_(additions),
        memory_(memory),
        life_(life) {}

  // With the version's lock.
  void Assign(const RunContext* context) {
    context_ = context;
    spoke_ = false;
  }

  // Makes responses to a request or to kAll, which are open. `empty`: nothing but the end of the
  // requests. Null: there is no memory, and nothing was done. With the lock.
  Delivery* Make(uint32_t request, const Status& status, bool final, bool empty);
  // Delivers them, and drops the holds of requests that are done. Without the lock.
  void Deliver(Delivery* delivery);

  // --- The parts of Deliver, for responses that leave in an order. Without the lock.
  // Where the outputs are by now. Those that are kept go to their keeper.
  void SetOutputs(Delivery* delivery);
  // Hands some of the responses to their sinks.
  void Give(const Delivery& delivery, size_t first, size_t count);
  // All of them were. The delivery is unused then.
  void Finish(Delivery* delivery);

 private:
  void Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery);
  // One response for all requests, if they are alike. False: they are not.
  bool PrepareAlike(Delivery* delivery);
  Response& AddResponse(uint32_t position, bool final, Delivery* delivery);
  // Copies outputs whose kind of memory their sink does not take to host memory.
  void Fetch(Delivery* delivery);
  void GiveToKeeper(const KeptOutputs& kept);

  RunMembers* const members_;
  RunClock* const clock_;
  RunOutputs* const outputs_;
  ResponseAccount* const account_;
  const BatchAdditions* const additions_;
  const OutputMemory* const memory_;
  RunLife* const life_;
  const RunContext* context_ = nullptr;

  // The lock.
  bool spoke_ = false;  // with an order only: some request has had a response of its own
  DeliveryPool deliveries_;
};

}  // namespace tritonts

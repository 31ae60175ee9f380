// Makes the responses of a run from its declared outputs, and delivers them to their sinks.
//
// Owned by a run. Each function states whether it is called with the run's lock; sinks and copiers
// are called without it. Any thread that holds the run may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

  // Called under the version's lock.
  void Assign(const RunContext* context) {
    context_ = context;
    spoke_ = false;
  }

  // Makes responses to an open request, or to all of them (kAll). `empty`: the response only ends
  // the requests. Null: out of memory, and nothing has changed. With the run's lock.
  Delivery* Make(uint32_t request, const Status& status, bool final, bool empty);
  // Delivers responses, and drops the holds of requests that are done. Without the lock.
  void Deliver(Delivery* delivery);

  // --- The parts of Deliver, for responses that leave in an order. Without the lock. SetOutputs
  // links responses to their outputs, and fetches outputs that a sink does not take where they are.
  // Some responses may become errors.
  void SetOutputs(Delivery* delivery);
  // Takes the outputs of a cancelled request that the keeper keeps; the others are dropped.
  void KeepOnly(uint32_t position, const Request& request, Delivery* delivery);
  // Passes kept outputs to their keeper. After this, no response may become an error.
  void GiveToKeeper(const Delivery& delivery);
  // Passes some of the responses to their sinks.
  void Give(const Delivery& delivery, size_t first, size_t count);
  // Called when all responses were passed on. Returns the delivery to the pool.
  void Finish(Delivery* delivery);

 private:
  void Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery);
  // Makes one response for all requests, if they are alike. False: they are not.
  bool PrepareAlike(Delivery* delivery);
  Response& AddResponse(uint32_t position, bool final, Delivery* delivery);
  // Counts a response as unread.
  static void CountUnread(StreamCount* stream, std::span<const OutputTensor> outputs,
                          Response* response);
  // Copies outputs in memory that their sink does not take to host memory.
  void Fetch(Delivery* delivery);

  RunMembers* const members_;
  RunClock* const clock_;
  RunOutputs* const outputs_;
  ResponseAccount* const account_;
  const BatchAdditions* const additions_;
  const OutputMemory* const memory_;
  RunLife* const life_;
  const RunContext* context_ = nullptr;

  // Guarded by the run's lock.
  bool spoke_ = false;  // with an order only: whether a request had a response of its own
  DeliveryPool deliveries_;
};

}  // namespace tritonts

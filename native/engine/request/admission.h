// Decides which prepared requests may be submitted to an executor. Refused requests get their final
// response here, on the calling thread, and belong to their sink again. The bound of a queue,
// max_queue_size, is checked later, in scheduling/policy_queue.cc.
//
// Both checks move the admitted requests to the front, in their order, and return their number. For
// admitted requests without a call (RequestHeader::call) they neither allocate nor take a lock.
#pragma once

#include <cstddef>
#include <span>

#include "engine/base/status.h"
#include "engine/request/request.h"

namespace tritonts {

class Budget;
class Executor;
struct Response;

// Lives on the stack of the submitting thread. Its arguments must outlive it.
class Admission {
 public:
  // `no_memory` is the status of a refusal if there is no memory for its message.
  Admission(const Executor& executor, const Status& no_memory)
      : executor_(executor), no_memory_(no_memory) {}

  // Charges each request's `accounted_bytes`, one request after the other. Requests that exceed the
  // limit are refused and marked as not charged (Request::charged).
  size_t Charge(Budget* budget, std::span<Request*> requests) const noexcept;
  // Refuses calls of a model's batch that are nested too deeply, that could deadlock, or whose
  // caller has ended (call_graph.h). Requests of one header must be adjacent.
  size_t AdmitCalls(std::span<Request*> requests) const noexcept;

  // The status of a refusal of one request that needs so many bytes.
  Status BeyondLimit(const Budget& budget, uint64_t bytes) const noexcept;

 private:
  const Executor& executor_;
  const Status& no_memory_;
};

// Ends requests that are in no queue. Each gets the response `like`, with its own request set.
void Refuse(std::span<Request* const> requests, const Response& like);

}  // namespace tritonts

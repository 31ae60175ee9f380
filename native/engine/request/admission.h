// Which prepared requests may be submitted to an executor. The others are refused here: each gets
// its final response from the thread that asks, and is its sink's again.
//
// Both checks move the requests that may go on to the front, in their order, and return how many
// these are. They do not allocate for requests that are admitted, and take no lock for those that
// no model's batch has made.
#pragma once

#include <cstddef>
#include <span>

#include "engine/base/status.h"
#include "engine/request/request.h"

namespace tritonts {

class Budget;
class Executor;
struct Response;

// On the stack of the thread that submits. All that it is given outlives it.
class Admission {
 public:
  // `no_memory` is said where there is no memory for a message.
  Admission(const Executor& executor, const Status& no_memory)
      : executor_(executor), no_memory_(no_memory) {}

  // Charges the bytes that each request's header accounts for, one request after the other. Those
  // that do not fit are refused, and count no more (Request::charged).
  size_t Charge(Budget* budget, std::span<Request*> requests) const noexcept;
  // Admits calls that a model's batch makes: neither too deep, nor so that they could wait for
  // each other without end (call_graph.h). Requests of one header stand together.
  size_t AdmitCalls(std::span<Request*> requests) const noexcept;

 private:
  Status BeyondLimit(const Budget& budget, uint64_t bytes) const noexcept;

  const Executor& executor_;
  const Status& no_memory_;
};

// Ends requests that nobody has queued: `like` is the response without its request.
void Refuse(std::span<Request* const> requests, const Response& like);

}  // namespace tritonts

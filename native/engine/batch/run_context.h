// What the runs of a version share: its tensors, its response order, and preallocated errors.
//
// Owned by the version and immutable after its start. Any thread may read it while a run has holds.
#pragma once

#include <memory>
#include <string>

#include "engine/backend.h"

namespace tritonts {

class ResponseCounts;
class ResponseOrder;

struct RunContext {
  RunContext() = default;
  RunContext(const std::string& name, bool batches,
             const ModelIo* tensors);  // throws std::bad_alloc

  std::string model;
  bool batching = false;                 // whether tensors have a batch dimension
  bool decoupled = false;                // whether a request gets any number of responses
  const ModelIo* io = nullptr;           // indexes and datatypes of the outputs; null: not checked
  std::shared_ptr<ResponseOrder> order;  // null: responses are delivered as they come
  std::shared_ptr<ResponseCounts> responses;  // counted by index; null: not counted
  bool rerun_in_halves = false;               // run a batch that fails as a whole again
  // Preallocated, because memory may be exhausted when they are needed.
  Status cancelled;
  Status left_open;    // a blocking Execute left a request open
  Status not_single;   // a model that is not decoupled gave none or several responses
  Status unread;       // a decoupled model sent more than the caller may leave unread
  Status no_memory;    // no memory for the request
  Status no_response;  // no memory for the response
};

}  // namespace tritonts

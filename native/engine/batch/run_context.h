// What the runs of a version have in common: its tensors, its order, and its errors, made
// beforehand.
//
// The version owns it, and changes nothing of it after its start. Any thread reads it while a run
// has holds.
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
  const ModelIo* io = nullptr;           // the outputs' indexes and datatypes; null: not checked
  std::shared_ptr<ResponseOrder> order;  // of the responses; null: they leave as they come
  std::shared_ptr<ResponseCounts> responses;  // by their number; null: they are not counted
  bool rerun_in_halves = false;               // whether a batch that fails as a whole is run again
  // Made beforehand, because there may be no memory when they are needed.
  Status cancelled;
  Status left_open;    // a blocking Execute left a request open
  Status not_single;   // a model that is not decoupled gave none or several responses
  Status unread;       // a decoupled model sent more than the caller may leave unread
  Status no_memory;    // no memory for the request
  Status no_response;  // no memory for the response
};

}  // namespace tritonts

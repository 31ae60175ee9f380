// Calls of the callbacks of requests.
//
// A delivery of the engine makes a chain of calls and runs it when it has done everything else. On
// a thread that is in a callback already, or in a function of the table, the chain waits until that
// is over. So callbacks never nest, however often they submit, and none runs while the API holds
// something of a request.
//
// A batch that runs on a thread within a function of the table (engine/version/occupied.h) may use
// the table itself, and wait for what it submits. So calls within the batch do not wait for the
// function around it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/ensemble/relay.h"

struct tritonts_response;

namespace tritonts::c_api {

class ApiRequest;

// A call of a response callback, and for a final response of the release callback after it. It
// lies in the response, or in the request if it is the final one, so that it needs no memory.
struct Call {
  Call* next = nullptr;
  ApiRequest* request = nullptr;
  tritonts_response* response = nullptr;  // owned; null: there is none
  uint32_t flags = 0;                     // of the response callback
  bool abandoned = false;
};

// A list of calls, in order. Belongs to one thread.
class Calls {
 public:
  void Append(Call* call) {
    call->next = nullptr;
    *last_ = call;
    last_ = &call->next;
  }
  bool empty() const { return first_ == nullptr; }
  Call* Pop() {
    Call* const call = first_;
    first_ = call->next;
    if (!first_) last_ = &first_;
    return call;
  }
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

 private:
  Call* first_ = nullptr;
  Call** last_ = &first_;
};

// The calls that wait on a thread. Only of plain values, so that a thread that ends has nothing to
// destroy.
struct ThreadCalls {
  uint32_t holds = 0;
  uint32_t batches = 0;  // Occupied::Batches() at the first hold
  bool in_callback = false;
  Call* first = nullptr;
  Call* last = nullptr;
};

// While it lives, calls of this thread wait. The last one of a thread makes them, or of a batch.
class HoldCalls {
 public:
  HoldCalls();
  ~HoldCalls();
  HoldCalls(const HoldCalls&) = delete;
  HoldCalls& operator=(const HoldCalls&) = delete;

 private:
  // If this is the first one of a batch: what is outside of the batch.
  std::optional<ThreadCalls> outer_;
  std::optional<Relay::Hidden> hidden_;
};

// Makes these calls on this thread, now or when no HoldCalls is left.
void Make(Calls* calls);

// Whether calls of this thread wait.
bool HoldsCalls();

// Whether this thread is in a callback.
bool InCallback();

}  // namespace tritonts::c_api

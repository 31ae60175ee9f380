#include "c_api/calls.h"

#include <utility>

#include "c_api/client.h"
#include "c_api/request.h"
#include "engine/version/occupied.h"

namespace tritonts::c_api {

namespace {

thread_local ThreadCalls t_calls;

void Enqueue(Calls* calls) {
  while (!calls->empty()) {
    Call* const call = calls->Pop();
    call->next = nullptr;
    if (t_calls.last) {
      t_calls.last->next = call;
    } else {
      t_calls.first = call;
    }
    t_calls.last = call;
  }
}

// Makes all calls that wait, and those that they cause. The caller holds.
void MakeWaiting() {
  EndedRequests ended;
  while (Call* const call = t_calls.first) {
    t_calls.first = call->next;
    if (!t_calls.first) t_calls.last = nullptr;
    t_calls.in_callback = true;
    ApiRequest::Complete(call, t_calls.first, &ended);
    t_calls.in_callback = false;
  }
}

}  // namespace

HoldCalls::HoldCalls() {
  const uint32_t batches = Occupied::Batches();
  // Within a callback calls always wait, so that callbacks do not nest.
  if (batches != t_calls.batches && !t_calls.in_callback) {
    outer_ = std::exchange(t_calls, ThreadCalls{.batches = batches});
    hidden_.emplace();
  }
  t_calls.holds++;
}

HoldCalls::~HoldCalls() {
  if (t_calls.holds == 1) MakeWaiting();
  t_calls.holds--;
  if (outer_) t_calls = *outer_;
}

bool HoldsCalls() {
  return t_calls.holds > 0;
}

void Make(Calls* calls) {
  if (calls->empty()) return;
  const HoldCalls hold;
  Enqueue(calls);
}

bool InCallback() {
  return t_calls.in_callback;
}

}  // namespace tritonts::c_api

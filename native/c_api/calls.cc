#include "c_api/calls.h"

#include "c_api/request.h"

namespace tritonts::c_api {

namespace {

// Only of plain values, so that a thread that ends has nothing to destroy.
struct ThreadCalls {
  uint32_t holds = 0;
  bool in_callback = false;
  Call* first = nullptr;
  Call* last = nullptr;
};
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
  while (Call* const call = t_calls.first) {
    t_calls.first = call->next;
    if (!t_calls.first) t_calls.last = nullptr;
    t_calls.in_callback = true;
    ApiRequest::Complete(call, t_calls.first);
    t_calls.in_callback = false;
  }
}

}  // namespace

HoldCalls::HoldCalls() {
  t_calls.holds++;
}

HoldCalls::~HoldCalls() {
  if (t_calls.holds == 1) MakeWaiting();
  t_calls.holds--;
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

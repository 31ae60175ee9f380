#include "engine/batch/run_members.h"

#include <thread>

#include "engine/base/rules.h"

namespace tritonts {

void RunMembers::Assign() {
  for (Request* request : requests_) {
    TRITONTS_ASSERT(request->state() == Request::State::kQueued, "a batch took a request twice");
    request->set_state(Request::State::kRunning);
  }
  phases_.assign(requests_.size(), Phase::kOpen);
  undone_ = requests_.size();
  delivering_ = rescheduled_ = 0;
  suspended_.store(false, std::memory_order_relaxed);
}

void RunMembers::Disband(RequestChain* requests) {
  for (Request* request : requests_) {
    request->set_state(Request::State::kQueued);
    if (!request->header->null_row) requests->Append(request);
  }
  std::lock_guard lock(lock_);
  EndAll();
}

bool RunMembers::AwaitOpen(uint32_t request, Lock* lock) {
  if (request != Run::kAll && request >= phases_.size()) return false;
  while (request == Run::kAll ? delivering_ > 0 : phases_[request] == Phase::kDelivering) {
    lock->unlock();
    std::this_thread::yield();  // another thread delivers, or asks the sink for memory
    lock->lock();
  }
  if (suspended()) return false;  // only now: another thread may have suspended the run meanwhile
  return request == Run::kAll ? undone_ > 0 : phases_[request] != Phase::kDone;
}

void RunMembers::End(uint32_t position, Request::State state) {
  TRITONTS_ASSERT(requests_[position]->state() == Request::State::kRunning,
                  "a request ended twice");
  phases_[position] = Phase::kDone;
  undone_--;
  requests_[position]->set_state(state);
}

void RunMembers::EndAll() {
  phases_.assign(phases_.size(), Phase::kDone);
  undone_ = 0;
}

}  // namespace tritonts

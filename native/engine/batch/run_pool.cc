#include "engine/batch/run_pool.h"

#include <utility>

namespace tritonts {

RunPool::~RunPool() {
  for (PooledRun* list : {idle_, returned_.load(std::memory_order_acquire)}) {
    while (list) delete std::exchange(list, list->next);
  }
}

PooledRun* RunPool::Take() {
  if (!idle_ && returned_.load(std::memory_order_relaxed)) {
    PooledRun* list = returned_.exchange(nullptr, std::memory_order_acquire);
    while (list) {
      PooledRun* const run = std::exchange(list, list->next);
      if (idle_count_ >= kMostIdle) {
        delete run;
        continue;
      }
      run->next = std::exchange(idle_, run);
      idle_count_++;
    }
  }
  PooledRun* run = idle_;
  if (run) {
    idle_ = run->next;
    idle_count_--;
  } else {
    run = new PooledRun();
  }
  out_++;
  run->next = run->previous = nullptr;
  run->LeavePool(this);
  return run;
}

void RunPool::ReturnLocked(PooledRun* run) {
  out_--;
  if (idle_count_ >= kMostIdle) {
    delete run;
    return;
  }
  run->next = std::exchange(idle_, run);
  idle_count_++;
}

void RunPool::Return(PooledRun* run) {
  PooledRun* head = returned_.load(std::memory_order_relaxed);
  do {
    run->next = head;
  } while (!returned_.compare_exchange_weak(head, run, std::memory_order_release,
                                            std::memory_order_relaxed));
  if (balance_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void RunPool::CloseNow() {
  // A run that returns meanwhile may free the pool as soon as this addition is done.
  const int64_t out = out_;
  if (balance_.fetch_add(out, std::memory_order_acq_rel) + out == 0) delete this;
}

}  // namespace tritonts

#include "engine/running/run_pool.h"

#include <utility>

namespace tritonts {

RunPool::~RunPool() {
  for (PooledRun* list : {idle_, returned_.load(std::memory_order_acquire)}) {
    while (list) delete std::exchange(list, list->next);
  }
}

PooledRun* RunPool::Take() {
  if (!idle_) idle_ = returned_.exchange(nullptr, std::memory_order_acquire);
  PooledRun* run = idle_;
  if (run) {
    idle_ = run->next;
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    run = new PooledRun();
  }
  run->next = run->previous = nullptr;
  run->home_ = shared_from_this();
  run->references_.store(1, std::memory_order_relaxed);
  return run;
}

void RunPool::Return(PooledRun* run) {
  if (idle_count_.fetch_add(1, std::memory_order_relaxed) >= kMostIdle) {
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
    delete run;
    return;
  }
  PooledRun* head = returned_.load(std::memory_order_relaxed);
  do {
    run->next = head;
  } while (!returned_.compare_exchange_weak(head, run, std::memory_order_release,
                                            std::memory_order_relaxed));
}

}  // namespace tritonts

#include "engine/batch/run_life.h"

#include <utility>

#include "engine/batch/run_pool.h"

namespace tritonts {

void RunLife::Leave(RunPool* pool) {
  home_ = pool;
  references_.store(1, std::memory_order_relaxed);
}

void RunLife::Assign(std::shared_ptr<RunOwner> owner, InstanceRunner* runner, uint32_t holds) {
  owner_ = std::move(owner);
  runner_ = runner;
  freed_.store(false, std::memory_order_relaxed);
  execution_.store(Execution::kNone, std::memory_order_relaxed);
  holds_.store(holds, std::memory_order_release);
}

void RunLife::Disband() {
  holds_.store(0, std::memory_order_release);
  owner_.reset();
}

bool RunLife::Abandon() {
  // Its holds are never dropped, so it counts as under way until the process ends.
  Execution under_way = Execution::kUnderWay;
  return execution_.compare_exchange_strong(under_way, Execution::kAbandoned,
                                            std::memory_order_acq_rel);
}

void RunLife::InstanceFree() {
  if (!FreeInstance()) return;
  // Read these while this thread has the instance's hold; afterwards the run may be assigned again.
  InstanceRunner* const runner = runner_;
  const std::shared_ptr<RunOwner> owner = owner_;
  owner->OnInstanceFree(runner, ReleaseHolds(1) ? run_ : nullptr);
}

bool RunLife::ReleaseHolds(uint32_t holds) {
  if (holds_.fetch_sub(holds, std::memory_order_acq_rel) != holds) return false;
  // Later calls find all requests done.
  outputs_->Clear();
  // The number of null rows is needed until Account.
  additions_->DropInputs();
  return true;
}

void RunLife::Drop(uint32_t holds) {
  if (!ReleaseHolds(holds)) return;
  const std::shared_ptr<RunOwner> owner = std::move(owner_);
  owner->OnDone(run_);
}

void RunLife::Requeue(Request* request) {
  owner_->OnReschedule(request);
  Drop(1);
}

void RunLife::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  home_->Return(run_);
}

void RunLife::ReleaseLocked() {
  // If this is the only reference, no thread can take another one.
  if (references_.load(std::memory_order_acquire) > 1 &&
      references_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    return;
  }
  home_->ReturnLocked(run_);
}

}  // namespace tritonts

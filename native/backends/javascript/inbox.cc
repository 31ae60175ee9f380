#include "backends/javascript/inbox.h"

#include <thread>
#include <utility>

namespace tritonts {

Inbox::Inbox(std::string model, std::string name, uint32_t concurrency)
    : model_(std::move(model)),
      name_(std::move(name)),
      terminated_status_(
          Status::Cancelled("model '" + model_ + "': instance '" + name_ + "' was asked to end")),
      died_status_(Status::Unavailable("model '" + model_ + "': the thread of instance '" + name_ +
                                       "' ended while it ran this request")),
      unanswered_status_(Status::Internal("model '" + model_ + "': instance '" + name_ +
                                          "' gave no result for this request")),
      slots_(concurrency) {
  waiting_.reserve(concurrency);
}

RunRef Inbox::Vacate(Slot* slot) {
  slot->phase = Phase::kFree;
  slot->ending = false;
  busy_--;
  return std::exchange(slot->run, RunRef());
}

RunRef Inbox::TakeUnfreed() {
  const bool may = up_ || settling_ || terminated_;
  return may && busy_ < slots_.size() ? std::exchange(unfreed_, RunRef()) : RunRef();
}

void Inbox::Push(Run& run) {
  const RunRef held(run);
  Lock lock(mutex_);
  if (terminated_ || closed_) {
    lock.unlock();
    held->RespondAll(terminated_status_);
    held->InstanceFree();
    return;
  }
  if (!up_ && !settling_) {
    unfreed_ = held;
    lock.unlock();
    const auto count = static_cast<uint32_t>(held->requests().size());
    for (uint32_t i = 0; i < count; i++) held->Reschedule(i);
    return;
  }
  uint32_t free = 0;
  while (slots_[free].phase != Phase::kFree) free++;
  slots_[free].run = held;
  slots_[free].phase = Phase::kWaiting;
  waiting_.push_back(free);
  busy_++;
  const bool has_room = busy_ < slots_.size();
  if (!has_room) unfreed_ = held;
  rung_.store(true, std::memory_order_release);
  Wake(&lock);
  if (has_room) held->InstanceFree();
}

void Inbox::Wake(Lock* lock) {
  const bool wake = asleep_ && attached_;
  if (wake) {
    asleep_ = false;
    waking_.fetch_add(1);
  }
  lock->unlock();
  if (!wake) return;
  wake_();
  waking_.fetch_sub(1);
}

void Inbox::EndAll(const Status& status, bool again, Lock* lock) {
  for (Slot& slot : slots_) {
    if (slot.phase == Phase::kEntered) slot.ending = true;
    if (slot.phase != Phase::kTaken && slot.phase != Phase::kWaiting) continue;
    const bool requeue = again && slot.phase == Phase::kWaiting;
    const RunRef run = Vacate(&slot);
    lock->unlock();
    if (requeue) {
      const auto count = static_cast<uint32_t>(run->requests().size());
      for (uint32_t i = 0; i < count; i++) run->Reschedule(i);
    } else {
      run->RespondAll(status);
    }
    lock->lock();
  }
  waiting_.clear();
}

void Inbox::Terminate() {
  Lock lock(mutex_);
  terminated_ = true;
  EndAll(terminated_status_, false, &lock);
  const RunRef free = TakeUnfreed();
  Wake(&lock);
  if (free) free->InstanceFree();
}

void Inbox::Close() {
  Lock lock(mutex_);
  closed_ = true;
  rung_.store(true, std::memory_order_release);
  Wake(&lock);
}

void Inbox::Settle() {
  Lock lock(mutex_);
  settling_ = true;
  const RunRef free = TakeUnfreed();
  lock.unlock();
  if (free) free->InstanceFree();
}

bool Inbox::Attach(std::function<void()> wake) {
  const Lock lock(mutex_);
  if (attached_ || closed_) return false;
  wake_ = std::move(wake);
  attached_ = true;
  asleep_ = false;
  return true;
}

void Inbox::Up() {
  Lock lock(mutex_);
  up_ = true;
  const RunRef free = TakeUnfreed();
  lock.unlock();
  if (free) free->InstanceFree();
}

void Inbox::Detach() {
  Lock lock(mutex_);
  if (!attached_) return;
  attached_ = up_ = asleep_ = false;
  // While it settles, nobody takes what is queued again: it waits here for the next environment.
  if (settling_) {
    for (Slot& slot : slots_) {
      if (slot.phase != Phase::kTaken && slot.phase != Phase::kEntered) continue;
      const RunRef run = Vacate(&slot);
      const RunRef free = TakeUnfreed();
      lock.unlock();
      run->RespondAll(died_status_);
      if (free) free->InstanceFree();
      lock.lock();
    }
  } else {
    EndAll(died_status_, true, &lock);
  }
  lock.unlock();
  while (waking_.load() != 0) std::this_thread::yield();
}

Inbox::Next Inbox::Take(uint32_t* slot, Run** run) {
  const Lock lock(mutex_);
  if (waiting_.empty()) {
    rung_.store(false, std::memory_order_relaxed);
    return closed_ ? Next::kClosed : Next::kNone;
  }
  *slot = waiting_.front();
  waiting_.erase(waiting_.begin());
  slots_[*slot].phase = Phase::kEntered;
  *run = &*slots_[*slot].run;
  return Next::kBatch;
}

Run* Inbox::Enter(uint32_t slot) {
  const Lock lock(mutex_);
  if (slot >= slots_.size() || slots_[slot].phase != Phase::kTaken) return nullptr;
  slots_[slot].phase = Phase::kEntered;
  return &*slots_[slot].run;
}

bool Inbox::Leave(uint32_t slot, bool last) {
  RunRef run;
  RunRef free;
  bool ending = false;
  {
    const Lock lock(mutex_);
    Slot& left = slots_[slot];
    ending = left.ending;
    if (!last && !ending) {
      left.phase = Phase::kTaken;
      return true;
    }
    run = Vacate(&left);
    free = TakeUnfreed();
  }
  run->RespondAll(ending ? terminated_status_ : unanswered_status_);
  if (free) free->InstanceFree();
  return false;
}

bool Inbox::Sleep() {
  const Lock lock(mutex_);
  if (!waiting_.empty() || closed_) return false;
  asleep_ = true;
  return true;
}

}  // namespace tritonts

#include "inbox/inbox.h"

#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "inbox/readers.h"

namespace tritonts {

namespace {

// Adds the traces of a batch's requests, by their positions in the batch.
void AddTraces(std::span<Request* const> requests, TraceMarks<TraceParent>* traces) {
  for (size_t at = 0; at < requests.size(); at++) {
    HeaderTraces* const known = requests[at]->header->traces.get();
    const auto* const mark = known ? FindMark(&known->own, requests[at]->position) : nullptr;
    if (mark && mark->trace) traces->push_back({static_cast<uint32_t>(at), mark->trace});
  }
}

}  // namespace

Inbox::Inbox(std::string model, std::string name, uint32_t concurrency,
             std::shared_ptr<CallPlaces> places, const std::string& runner)
    : model_(std::move(model)),
      name_(std::move(name)),
      terminated_status_(
          Status::Cancelled("model '" + model_ + "': instance '" + name_ + "' was asked to end")),
      died_status_(Status::Unavailable(Reason::kInstanceEnded,
                                       "model '" + model_ + "': the " + runner + " of instance '" +
                                           name_ + "' ended while it ran this request")),
      unanswered_status_(Status::Internal("model '" + model_ + "': instance '" + name_ +
                                          "' returned no result for this request")),
      concurrency_(concurrency),
      places_(std::move(places)),
      slots_(concurrency) {
  waiting_.reserve(concurrency);
  for (uint32_t i = concurrency; i > 0; i--) free_.push_back(i - 1);
}

Inbox::~Inbox() = default;

RunRef Inbox::Vacate(uint32_t number) {
  Slot& slot = slots_[number];
  slot.phase = Phase::kFree;
  slot.served.clear();
  slot.traces.clear();
  slot.shared_number = 0;
  if (slot.caller) std::exchange(slot.caller, nullptr)->End();
  if (!slot.parted) busy_--;
  slot.ending = slot.parted = false;
  free_.push_back(number);
  return std::exchange(slot.run, RunRef());
}

RunRef Inbox::TakeUnfreed() {
  const bool may = up_ || settling_ || terminated_;
  return may && busy_ < concurrency_ ? std::exchange(unfreed_, RunRef()) : RunRef();
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
    for (uint32_t i = 0; i < count; i++) held->Reschedule(i, false);
    return;
  }
  const uint32_t free = free_.back();
  free_.pop_back();
  slots_[free].run = held;
  slots_[free].phase = Phase::kWaiting;
  waiting_.push_back(free);
  busy_++;
  const bool has_room = busy_ < concurrency_;
  if (!has_room) unfreed_ = held;
  pushed_ns_.store(NowNs(), std::memory_order_relaxed);
  rung_.store(true, std::memory_order_release);
  Wake(&lock);
  if (has_room) held->InstanceFree();
}

void Inbox::Signal(Lock* lock) {
  waking_.fetch_add(1);
  lock->unlock();
  wake_();
  waking_.fetch_sub(1);
}

void Inbox::Wake(Lock* lock) {
  if (!asleep_ || !attached_) return lock->unlock();
  asleep_ = false;
  Signal(lock);
}

void Inbox::EndAll(const Status& status, bool again, Lock* lock) {
  // The environment's thread may add slots while the lock is released.
  for (uint32_t i = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[i];
    if (slot.phase == Phase::kEntered) slot.ending = true;
    if (slot.phase != Phase::kTaken && slot.phase != Phase::kWaiting) continue;
    const bool requeue = again && slot.phase == Phase::kWaiting;
    // Free the slot before unlocking, or the environment would take a slot without a run.
    if (slot.phase == Phase::kWaiting) std::erase(waiting_, i);
    const RunRef run = Vacate(i);
    lock->unlock();
    if (requeue) {
      const auto count = static_cast<uint32_t>(run->requests().size());
      for (uint32_t i = 0; i < count; i++) run->Reschedule(i, false);
    } else {
      run->RespondAll(status);
    }
    lock->lock();
  }
}

void Inbox::Terminate() {
  Lock lock(mutex_);
  terminated_ = true;
  EndAll(terminated_status_, false, &lock);
  const RunRef free = TakeUnfreed();
  ended_all_ = true;
  WakeForReaders(&lock);
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
  if (!std::exchange(was_up_, true)) places_->Add(concurrency_);
  const RunRef free = TakeUnfreed();
  lock.unlock();
  if (free) free->InstanceFree();
}

void Inbox::Detach() {
  Lock lock(mutex_);
  if (!attached_) return;
  attached_ = up_ = asleep_ = false;
  DropReaders();
  // While the version settles, no instance takes requeued requests: they wait here for the next
  // environment.
  if (settling_) {
    for (uint32_t i = 0; i < slots_.size(); i++) {
      if (slots_[i].phase != Phase::kTaken && slots_[i].phase != Phase::kEntered) continue;
      const RunRef run = Vacate(i);
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

void Inbox::NoteServed(uint32_t slot, std::vector<ServedCall> served) {
  const Lock lock(mutex_);
  Slot& taken = slots_[slot];
  taken.served = std::move(served);
  taken.traces.clear();
  try {
    AddTraces(taken.run->requests(), &taken.traces);
  } catch (const std::bad_alloc&) {
    taken.traces.clear();  // calls of the batch are not traced
  }
}

void Inbox::Untake(uint32_t slot) {
  const Lock lock(mutex_);
  if (slot >= slots_.size() || slots_[slot].phase != Phase::kTaken || slots_[slot].parted) return;
  slots_[slot].phase = Phase::kWaiting;
  // The capacity suffices for all busy slots.
  waiting_.push_back(slot);
}

uint32_t Inbox::NameCaller(uint32_t slot, uint32_t position) {
  const Lock lock(mutex_);
  if (slot >= slots_.size() || slots_[slot].phase != Phase::kTaken) return 0;
  Slot& taken = slots_[slot];
  CallGraph& graph = CallGraph::Get();
  if (!taken.caller) {
    taken.caller = graph.Begin(places_, taken.served, taken.traces);
    if (taken.parted) taken.caller->LeavePlace();
  }
  if (!taken.served.empty() || !taken.traces.empty()) return graph.Name(taken.caller, position);
  if (taken.shared_number == 0) taken.shared_number = graph.Name(taken.caller, ~0u);
  return taken.shared_number;
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
    run = Vacate(slot);
    free = TakeUnfreed();
  }
  run->RespondAll(ending ? terminated_status_ : unanswered_status_);
  if (free) free->InstanceFree();
  return false;
}

void Inbox::Part(uint32_t slot) {
  RunRef free;
  {
    const Lock lock(mutex_);
    if (slot >= slots_.size() || slots_[slot].phase != Phase::kTaken || slots_[slot].parted) return;
    if (free_.size() < concurrency_ - busy_ + 1) {
      try {
        // At some time all slots may be free.
        if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size());
        slots_.emplace_back();
      } catch (const std::bad_alloc&) {
        return;
      }
      free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    slots_[slot].parted = true;
    if (slots_[slot].caller) slots_[slot].caller->LeavePlace();
    busy_--;
    free = TakeUnfreed();
  }
  if (free) free->InstanceFree();
}

bool Inbox::Sleep() {
  const Lock lock(mutex_);
  if (!waiting_.empty() || closed_ || readers_ || ended_all_) return false;
  asleep_ = true;
  return true;
}

}  // namespace tritonts

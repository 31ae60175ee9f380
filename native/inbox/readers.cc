// Readers: requests of streams whose callers have read responses.
#include "inbox/readers.h"

#include <utility>

namespace tritonts {

std::shared_ptr<ReadListener> Inbox::MakeReader(uint32_t slot, uint32_t request) {
  return std::make_shared<Reader>(shared_from_this(), slot, request);
}

void Inbox::List(std::shared_ptr<Reader> reader) {
  Lock lock(mutex_);
  if (!attached_) return;
  Reader* const last = reader.get();
  (last_reader_ ? last_reader_->next : readers_) = std::move(reader);
  last_reader_ = last;
  WakeForReaders(&lock);
}

// The environment may be awaiting the model's results without Sleep, so that it does not look for
// batches.
void Inbox::WakeForReaders(Lock* lock) {
  rung_.store(true, std::memory_order_release);
  if (told_of_readers_ || !attached_) return lock->unlock();
  told_of_readers_ = true;
  asleep_ = false;
  Signal(lock);
}

void Inbox::DropReaders() {
  // One at a time, so that the stack does not grow with the list. The caller keeps the inbox alive.
  while (readers_) readers_ = std::move(readers_->next);
  last_reader_ = nullptr;
  ended_all_ = told_of_readers_ = false;
}

Inbox::Readers Inbox::TakeReader(uint32_t* slot, uint32_t* request) {
  std::shared_ptr<Reader> taken;  // released without the lock
  const Lock lock(mutex_);
  if (ended_all_) {
    ended_all_ = false;
    return Readers::kAll;
  }
  if (!readers_) {
    told_of_readers_ = false;
    return Readers::kNone;
  }
  taken = std::move(readers_);
  readers_ = std::move(taken->next);
  if (!readers_) last_reader_ = nullptr;
  *slot = taken->slot;
  *request = taken->request;
  return Readers::kOne;
}

bool Inbox::has_readers() {
  const Lock lock(mutex_);
  return readers_ || ended_all_;
}

}  // namespace tritonts

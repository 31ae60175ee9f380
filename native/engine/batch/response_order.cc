#include "engine/batch/response_order.h"

#include <utility>

namespace tritonts {

void ResponseOrder::Join(OrderedRun* run, size_t requests, OrderedRun* behind) {
  std::lock_guard lock(lock_);
  run->places_.assign(requests, OrderedRun::Place::kOpen);
  run->turn_ = 0;
  run->first_held_ = run->last_held_ = nullptr;
  OrderedRun* const before = behind ? behind : last_;
  OrderedRun*& link = before ? before->next_run_ : first_;
  run->next_run_ = std::exchange(link, run);
  if (!run->next_run_) last_ = run;
}

void ResponseOrder::Leave(OrderedRun* run) {
  std::lock_guard lock(lock_);
  OrderedRun* before = nullptr;
  for (OrderedRun* one = first_; one && one != run; one = one->next_run_) before = one;
  (before ? before->next_run_ : first_) = run->next_run_;
  if (last_ == run) last_ = before;
}

void ResponseOrder::Pass(OrderedRun* run, const OrderedResponses& responses, size_t count) {
  if (!responses.is_final) return;
  for (; count > 0; count--) run->places_[run->turn_++] = OrderedRun::Place::kOver;
}

bool ResponseOrder::GiveNow(OrderedRun* run, OrderedResponses* responses) {
  const std::vector<uint32_t>& positions = responses->positions;
  const size_t count = positions.size();
  Lock lock(lock_);
  if (open_ || giving_ || first_ != run) return false;
  // Held responses go first. After responses that are not final, others to the same requests
  // follow.
  if (count > 1 && (!responses->is_final || run->first_held_)) return false;
  for (size_t i = 0; i < count; i++) {
    if (positions[i] != run->turn_ + i) return false;
  }
  giving_ = true;
  Pass(run, *responses, count);
  lock.unlock();
  run->Give(responses, 0, count);
  run->GaveAll(responses);
  lock.lock();
  GiveDue(&lock);
  giving_ = false;
  return true;
}

bool ResponseOrder::Hold(OrderedRun* run, OrderedResponses* responses) {
  std::lock_guard lock(lock_);
  if (open_) return false;
  responses->given_ = 0;
  responses->next_held_ = nullptr;
  (run->last_held_ ? run->last_held_->next_held_ : run->first_held_) = responses;
  run->last_held_ = responses;
  return true;
}

bool ResponseOrder::Holds(const OrderedRun& run, uint32_t position) {
  for (const OrderedResponses* one = run.first_held_; one; one = one->next_held_) {
    for (size_t i = one->given_; i < one->positions.size(); i++) {
      if (one->positions[i] == position) return true;
    }
  }
  return false;
}

bool ResponseOrder::Skip(OrderedRun* run, uint32_t position) {
  std::lock_guard lock(lock_);
  const bool held = !open_ && Holds(*run, position);
  run->places_[position] = held ? OrderedRun::Place::kAwaited : OrderedRun::Place::kOver;
  return !held;
}

bool ResponseOrder::Await(OrderedRun* run, uint32_t position) {
  std::lock_guard lock(lock_);
  if (open_) return false;
  run->places_[position] = OrderedRun::Place::kAwaited;
  return true;
}

OrderedResponses* ResponseOrder::HeldAt(const OrderedRun& run, size_t turn,
                                        OrderedResponses** before) {
  *before = nullptr;
  for (OrderedResponses* one = run.first_held_; one; one = one->next_held_) {
    if (one->positions[one->given_] == turn) return one;
    *before = one;
  }
  return nullptr;
}

OrderedResponses* ResponseOrder::Due(OrderedRun* run, size_t* first, size_t* count) {
  OrderedResponses* before = nullptr;
  OrderedResponses* const due = HeldAt(*run, run->turn_, &before);
  if (!due) return nullptr;
  *first = due->given_;
  const size_t all = due->positions.size() - due->given_;
  for (*count = 1; due->is_final && *count < all; ++*count) {
    const size_t turn = run->turn_ + *count;
    OrderedResponses* unused = nullptr;
    // An earlier response to that request may also be held.
    if (due->positions[*first + *count] != turn || HeldAt(*run, turn, &unused)) break;
  }
  due->given_ += *count;
  Pass(run, *due, *count);
  if (*count < all) return due;
  (before ? before->next_held_ : run->first_held_) = due->next_held_;
  if (run->last_held_ == due) run->last_held_ = before;
  return due;
}

void ResponseOrder::GiveDue(Lock* lock) {
  using Place = OrderedRun::Place;
  while (OrderedRun* const run = first_) {
    if (run->turn_ == run->places_.size()) {
      first_ = run->next_run_;
      if (!first_) last_ = nullptr;
      lock->unlock();
      run->Passed();
      lock->lock();
      continue;
    }
    size_t first = 0;
    size_t count = 0;
    if (OrderedResponses* const due = Due(run, &first, &count)) {
      const bool all = due->given_ == due->positions.size();
      lock->unlock();
      run->Give(due, first, count);
      if (all) run->GaveAll(due);
      lock->lock();
      continue;
    }
    const auto position = static_cast<uint32_t>(run->turn_);
    const Place place = run->places_[position];
    if (place == Place::kOpen && !open_) return;
    run->turn_++;
    if (place != Place::kAwaited) continue;
    lock->unlock();
    run->TakeTurn(position);
    lock->lock();
  }
}

void ResponseOrder::Go() {
  Lock lock(lock_);
  if (giving_) return;
  giving_ = true;
  GiveDue(&lock);
  giving_ = false;
}

void ResponseOrder::Open() {
  {
    std::lock_guard lock(lock_);
    open_ = true;
  }
  Go();
}

}  // namespace tritonts

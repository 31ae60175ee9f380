// A first-in first-out queue of requests, linked through the requests themselves: no allocation,
// and taking one out of the middle (a cancellation) costs nothing. Not thread-safe: its scheduler's
// owner holds the lock.
#pragma once

#include <cstddef>

#include "engine/request/request.h"

namespace tritonts {

class RequestQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  size_t size() const { return size_; }
  Schedulable* front() const { return head_; }

  void Append(Schedulable* request) {
    request->next = nullptr;
    request->previous = tail_;
    (tail_ ? tail_->next : head_) = request;
    tail_ = request;
    request->queued = true;
    size_++;
  }

  // Takes `count` requests out from the first one on, which are in the queue one after the other.
  // Their `next` still leads from each to the one behind it.
  void RemoveRun(Schedulable* first, size_t count) {
    Schedulable* last = first;
    last->queued = false;
    for (size_t i = 1; i < count; i++) {
      last = last->next;
      last->queued = false;
    }
    (first->previous ? first->previous->next : head_) = last->next;
    (last->next ? last->next->previous : tail_) = first->previous;
    size_ -= count;
  }

  void Remove(Schedulable* request) {
    (request->previous ? request->previous->next : head_) = request->next;
    (request->next ? request->next->previous : tail_) = request->previous;
    request->next = request->previous = nullptr;
    request->queued = false;
    size_--;
  }

 private:
  Schedulable* head_ = nullptr;
  Schedulable* tail_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritonts

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
  Request* front() const { return head_; }

  void Append(Request* request) {
    request->next = nullptr;
    request->previous = tail_;
    (tail_ ? tail_->next : head_) = request;
    tail_ = request;
    request->queued = true;
    size_++;
  }

  // Takes `count` requests out from `first` on, which are in the queue one after the other, and
  // writes them to `taken`.
  void TakeNeighbours(Request* first, size_t count, Request** taken) {
    Request* last = nullptr;
    for (Request* request = first; count > 0; request = request->next, count--, size_--) {
      request->queued = false;
      *taken++ = last = request;
    }
    (first->previous ? first->previous->next : head_) = last->next;
    (last->next ? last->next->previous : tail_) = first->previous;
  }

  void Remove(Request* request) {
    (request->previous ? request->previous->next : head_) = request->next;
    (request->next ? request->next->previous : tail_) = request->previous;
    request->next = request->previous = nullptr;
    request->queued = false;
    size_--;
  }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritonts

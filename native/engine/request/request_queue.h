// A first-in first-out queue of requests. The links are in the requests, so the queue does not
// allocate, and removing a request from the middle (a cancellation) takes constant time. It does
// not own the requests. Not thread-safe: the scheduler's owner holds the lock.
#pragma once

#include <cstddef>
#include <span>

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

  // Inserts one or more requests behind `before`; null: at the head.
  void InsertBehind(Request* before, std::span<Request* const> requests) {
    Request* const after = before ? before->next : head_;
    (before ? before->next : head_) = requests.front();
    (after ? after->previous : tail_) = requests.back();
    for (Request* request : requests) {
      request->previous = before;
      if (before) before->next = request;
      request->queued = true;
      before = request;
    }
    before->next = after;
    size_ += requests.size();
  }

  // Removes `count` adjacent requests, from `first` on, and writes them to `taken`.
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

// A list of requests that are in no queue. The links are in the requests, so the chain does not
// allocate. It does not own the requests. Not thread-safe.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/request/request.h"

namespace tritonts {

class RequestChain {
 public:
  RequestChain() = default;
  RequestChain(RequestChain&& other) noexcept { *this = std::move(other); }
  RequestChain& operator=(RequestChain&& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  // The first request; Request::next leads to the others.
  const Request* front() const { return first_; }

  void Append(Request* request) {
    request->next = nullptr;
    (last_ ? last_->next : first_) = request;
    last_ = request;
    size_++;
  }
  // Appends the requests of another chain, which is empty then.
  void Append(RequestChain&& other) {
    if (other.empty()) return;
    (last_ ? last_->next : first_) = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    size_ += std::exchange(other.size_, 0);
  }
  // Removes and returns the first request. The chain must not be empty.
  Request* Pop() {
    Request* const request = first_;
    first_ = std::exchange(request->next, nullptr);
    if (!first_) last_ = nullptr;
    size_--;
    return request;
  }

 private:
  Request* first_ = nullptr;
  Request* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritonts

// Requests that are in no queue, linked through themselves: to keep them together needs no memory.
// Not thread-safe; they belong to whoever has the chain.
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
  // The first one; Request::next leads to those behind it.
  const Request* front() const { return first_; }

  void Append(Request* request) {
    request->next = nullptr;
    (last_ ? last_->next : first_) = request;
    last_ = request;
    size_++;
  }
  // Takes the first one out, of some.
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

// A vector that stores up to N elements inside itself. A request usually has few inputs and dims,
// so they lie in the request's own cache lines.
//
// All N elements are constructed with the vector and assigned to later, so T must be default
// constructible. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tritonts {

template <typename T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(const SmallVector&) = default;
  SmallVector& operator=(const SmallVector&) = default;
  SmallVector(SmallVector&& other) noexcept { *this = std::move(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    size_ = std::exchange(other.size_, 0);
    few_ = std::move(other.few_);
    more_ = std::move(other.more_);
    other.more_.clear();
    return *this;
  }
  SmallVector& operator=(const std::vector<T>& other) {
    assign(other.begin(), other.end());
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return more_.empty() ? few_.data() : more_.data(); }
  const T* data() const { return more_.empty() ? few_.data() : more_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }

  void push_back(T value) {
    if (size_ < N && more_.empty()) {
      few_[size_] = std::move(value);
    } else {
      if (more_.empty()) Spill();
      more_.push_back(std::move(value));
    }
    size_++;
  }
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    const auto count = static_cast<size_t>(std::distance(first, last));
    clear();
    if (count <= N) {
      std::copy(first, last, few_.begin());
    } else {
      more_.assign(first, last);
    }
    size_ = count;
  }
  // Removes and resets all elements, so that they release their resources.
  void clear() {
    if (more_.empty()) {
      for (size_t i = 0; i < size_; i++) few_[i] = T();
    } else {
      more_.clear();
    }
    size_ = 0;
  }

 private:
  void Spill() {
    more_.reserve(N + 1);
    for (T& element : few_) more_.push_back(std::exchange(element, T()));
  }

  size_t size_ = 0;
  std::array<T, N> few_{};
  std::vector<T> more_;  // all elements, if there are more than N
};

}  // namespace tritonts

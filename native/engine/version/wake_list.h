// Instances whose threads are to be woken once the version's lock is released. The first few need
// no allocation. If there is no memory for more, those threads are woken at once.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "engine/batch/instance.h"

namespace tritonts {

class WakeList {
 public:
  WakeList() = default;
  WakeList(WakeList&& other) noexcept { *this = std::move(other); }
  WakeList& operator=(WakeList&& other) noexcept {
    Clear();
    for (size_t i = 0; i < other.count_; i++) {
      new (few_ + count_++ * sizeof(Wake)) Wake(std::move(other.few(i)));
    }
    more_ = std::move(other.more_);
    first_ = other.first_;
    other.Clear();
    return *this;
  }
  ~WakeList() { Clear(); }

  bool empty() const { return count_ == 0; }

  // Called with the version's lock.
  void Add(InstanceRunner* runner) {
    if (count_ < kFew) {
      new (few_ + count_++ * sizeof(Wake)) Wake{runner, runner->bell};
      return;
    }
    try {
      more_.push_back({runner, runner->bell});
    } catch (const std::bad_alloc&) {
      runner->bell->Ring();
    }
  }
  // The first instance, or null. Called with the version's lock.
  InstanceRunner* front() const { return count_ > 0 ? few(0).runner : nullptr; }
  // Removes the first instance, which needs no waking. Called with the version's lock.
  void DropFront() { first_ = 1; }
  // Wakes the threads, with no lock held. By then the instances may be gone, so only their bells
  // are used.
  void Notify() const {
    for (size_t i = first_; i < count_; i++) few(i).bell->Ring();
    for (const Wake& wake : more_) wake.bell->Ring();
  }

 private:
  struct Wake {
    InstanceRunner* runner = nullptr;
    std::shared_ptr<Bell> bell;
  };
  static constexpr size_t kFew = 4;

  void Clear() {
    for (; count_ > 0; count_--) few(count_ - 1).~Wake();
    more_.clear();
    first_ = 0;
  }
  Wake& few(size_t i) { return reinterpret_cast<Wake*>(few_)[i]; }
  const Wake& few(size_t i) const { return reinterpret_cast<const Wake*>(few_)[i]; }

  // Not initialized: every submission and every run makes a list, and most lists stay empty.
  alignas(Wake) std::byte few_[kFew * sizeof(Wake)];
  std::vector<Wake> more_;
  size_t count_ = 0;  // how many of few_ are used
  size_t first_ = 0;
};

}  // namespace tritonts

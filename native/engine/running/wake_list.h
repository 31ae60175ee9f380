// Instances whose threads are to be woken once the version's lock is gone. The usual few need no
// memory, and where there is none for others, these are woken at once.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "engine/running/instance.h"

namespace tritonts {

class WakeList {
 public:
  bool empty() const { return count_ == 0; }

  // The version's lock.
  void Add(InstanceRunner* runner) {
    Wake wake{runner, runner->bell};
    if (count_ < few_.size()) {
      few_[count_++] = std::move(wake);
      return;
    }
    try {
      more_.push_back(wake);
    } catch (const std::bad_alloc&) {
      wake.bell->Ring();
    }
  }
  // The version's lock: the first one, where there is any.
  InstanceRunner* front() const { return count_ > 0 ? few_[0].runner : nullptr; }
  // The version's lock: that one needs no waking.
  void DropFront() { first_ = 1; }
  // No lock: what was added may be gone by now, but for its bell.
  void Notify() const {
    for (size_t i = first_; i < count_; i++) few_[i].bell->Ring();
    for (const Wake& wake : more_) wake.bell->Ring();
  }

 private:
  struct Wake {
    InstanceRunner* runner = nullptr;
    std::shared_ptr<Bell> bell;
  };
  std::array<Wake, 4> few_;
  std::vector<Wake> more_;
  size_t count_ = 0;  // of the few
  size_t first_ = 0;
};

}  // namespace tritonts

// The slots of all instances, and the sequences in them.
//
// A new sequence gets the free slot with the lowest index over all instances, so instances fill in
// parallel. A slot's number is index * instances + instance. Guarded by its owner's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tritonts {

class Sequence;

class SequenceSlots {
 public:
  SequenceSlots(uint32_t instances, uint32_t slots)
      : instances_(instances),
        of_instance_(slots),
        most_(std::min<uint64_t>(uint64_t{instances} * slots, UINT32_MAX - 1)) {}

  bool any_free() const { return !free_.empty() || slots_.size() < most_; }
  size_t taken() const { return slots_.size() - free_.size(); }
  // How many there are.
  size_t most() const { return most_; }
  // The slots from this number on have never been taken, and take no memory.
  uint32_t used() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t instances() const { return instances_; }
  uint32_t of_instance() const { return of_instance_; }
  uint32_t InstanceOf(uint32_t slot) const { return slot % instances_; }
  // Null: the slot is free.
  Sequence* At(uint32_t slot) const { return slot < slots_.size() ? slots_[slot] : nullptr; }
  Sequence* At(uint32_t instance, uint32_t index) const {
    const size_t slot = size_t{index} * instances_ + instance;
    return slot < slots_.size() ? slots_[slot] : nullptr;
  }
  // Makes room, so that no other function allocates. Called before Take. Throws std::bad_alloc.
  void Reserve() {
    if (!free_.empty() || slots_.size() == most_) return;
    if (slots_.capacity() == slots_.size()) slots_.reserve(std::max<size_t>(16, 2 * slots_.size()));
    free_.reserve(slots_.capacity());
  }
  // Gives a free slot to a sequence, and returns its number.
  uint32_t Take(Sequence* sequence) {
    if (free_.empty()) {
      slots_.push_back(sequence);
      return static_cast<uint32_t>(slots_.size() - 1);
    }
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    const uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = sequence;
    return slot;
  }
  // Gives a taken slot to another sequence.
  void Replace(uint32_t slot, Sequence* sequence) { slots_[slot] = sequence; }
  void Release(uint32_t slot) {
    slots_[slot] = nullptr;
    free_.push_back(slot);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }

 private:
  const uint32_t instances_;
  const uint32_t of_instance_;
  const size_t most_;
  std::vector<Sequence*> slots_;  // by number
  std::vector<uint32_t> free_;    // those of `slots_` that are free: a heap, the lowest first
};

}  // namespace tritonts

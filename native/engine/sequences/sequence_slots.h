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
  // Throws std::bad_alloc; no other function allocates.
  SequenceSlots(uint32_t instances, uint32_t slots)
      : instances_(instances), of_instance_(slots), slots_(size_t{instances} * slots) {
    free_.reserve(slots_.size());
    for (uint32_t i = 0; i < slots_.size(); i++) free_.push_back(i);
  }

  bool any_free() const { return !free_.empty(); }
  size_t free() const { return free_.size(); }
  size_t size() const { return slots_.size(); }
  uint32_t instances() const { return instances_; }
  uint32_t of_instance() const { return of_instance_; }
  uint32_t InstanceOf(uint32_t slot) const { return slot % instances_; }
  // Null: the slot is free.
  Sequence* At(uint32_t slot) const { return slots_[slot]; }
  Sequence* At(uint32_t instance, uint32_t index) const {
    return slots_[size_t{index} * instances_ + instance];
  }
  // Gives a free slot to a sequence, and returns its number.
  uint32_t Take(Sequence* sequence) {
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
  std::vector<Sequence*> slots_;  // by number
  std::vector<uint32_t> free_;    // a heap, the lowest number first
};

}  // namespace tritonts

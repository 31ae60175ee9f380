// The slots of all instances, and the sequences in them.
//
// A new sequence gets the free slot with the lowest index over all instances, so instances fill in
// parallel. Instances may come and go: the slots of one that was closed are given to nobody, and
// the sequences in them stay. Guarded by its owner's lock.
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
  // The number of a slot: its index, then its instance. So a lower number is an earlier slot.
  using Slot = uint64_t;

  // Throws std::bad_alloc.
  SequenceSlots(uint32_t instances, uint32_t slots) : of_instance_(slots) {
    for (uint32_t instance = 0; instance < instances; instance++) Open(instance);
  }

  bool any_free() const { return !free_.empty() || unmade_ > 0; }
  size_t taken() const { return taken_; }
  // How many there are: those of open instances, and those that are still taken.
  size_t most() const { return most_; }
  uint32_t of_instance() const { return of_instance_; }
  static uint32_t InstanceOf(Slot slot) { return static_cast<uint32_t>(slot); }
  bool is_open(uint32_t instance) const { return instances_[instance].open; }
  // Whether sequences are in the slots of an instance.
  bool any_taken(uint32_t instance) const { return instances_[instance].taken > 0; }
  // How many instances there were at most at a time: their numbers are lower.
  uint32_t instances() const { return static_cast<uint32_t>(instances_.size()); }
  // Null: the slot is free.
  Sequence* At(uint32_t instance, uint32_t index) const {
    const std::vector<Sequence*>& slots = instances_[instance].slots;
    return index < slots.size() ? slots[index] : nullptr;
  }
  // Calls `what` with each sequence in a slot, in the order of the slots. It may release the slot.
  template <typename What>
  void ForEach(const What& what) {
    size_t rows = 0;
    for (const Instance& one : instances_) rows = std::max(rows, one.slots.size());
    for (uint32_t index = 0; index < rows; index++) {
      for (uint32_t instance = 0; instance < instances(); instance++) {
        if (Sequence* const sequence = At(instance, index)) what(sequence);
      }
    }
  }

  // Adds the slots of an instance, whose number may be that of a closed one without sequences.
  // Throws std::bad_alloc; then nothing has changed.
  void Open(uint32_t instance) {
    if (instance >= instances_.size()) instances_.resize(size_t{instance} + 1);
    Instance& one = instances_[instance];
    made_ -= one.slots.size();
    one.slots.clear();
    one.open = true;
    unmade_ += of_instance_;
    most_ += of_instance_;
  }
  // The free slots of an instance are given to nobody any more.
  void Close(uint32_t instance) {
    Instance& one = instances_[instance];
    one.open = false;
    unmade_ -= of_instance_ - one.slots.size();
    most_ -= of_instance_ - one.taken;
    std::erase_if(free_, [instance](Slot slot) { return InstanceOf(slot) == instance; });
    std::make_heap(free_.begin(), free_.end(), std::greater<>());
  }
  // Makes room, so that no other function but Open allocates. Called before Take. Throws
  // std::bad_alloc.
  void Reserve() {
    if (Instance* const next = FirstUnmade()) {
      std::vector<Sequence*>& slots = next->slots;
      if (slots.capacity() == slots.size()) slots.reserve(std::max<size_t>(16, 2 * slots.size()));
    }
    if (free_.capacity() <= made_) free_.reserve(std::max<size_t>(16, 2 * (made_ + 1)));
  }
  // Gives the first free slot to a sequence, and returns its number. There is one.
  Slot Take(Sequence* sequence) {
    taken_++;
    Instance* const unmade = FirstUnmade();
    if (unmade) {
      const Slot slot = NumberOf(*unmade, unmade->slots.size());
      if (free_.empty() || slot < free_.front()) {
        unmade->slots.push_back(sequence);
        unmade->taken++;
        unmade_--;
        made_++;
        return slot;
      }
    }
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    const Slot slot = free_.back();
    free_.pop_back();
    instances_[InstanceOf(slot)].taken++;
    Replace(slot, sequence);
    return slot;
  }
  // Gives a taken slot to another sequence.
  void Replace(Slot slot, Sequence* sequence) {
    instances_[InstanceOf(slot)].slots[slot >> 32] = sequence;
  }
  void Release(Slot slot) {
    Replace(slot, nullptr);
    Instance& one = instances_[InstanceOf(slot)];
    one.taken--;
    taken_--;
    if (!one.open) {
      most_--;
      return;
    }
    free_.push_back(slot);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }

 private:
  struct Instance {
    bool open = false;
    size_t taken = 0;
    // By index. The slots from its end on have never been taken, and take no memory.
    std::vector<Sequence*> slots;
  };

  Slot NumberOf(const Instance& one, size_t index) const {
    return Slot{index} << 32 | static_cast<Slot>(&one - instances_.data());
  }
  // The instance with the first slot that has never been taken. Null: there is none.
  Instance* FirstUnmade() {
    Instance* first = nullptr;
    if (unmade_ == 0) return first;
    for (Instance& one : instances_) {
      if (!one.open || one.slots.size() == of_instance_) continue;
      if (!first || one.slots.size() < first->slots.size()) first = &one;
    }
    return first;
  }

  const uint32_t of_instance_;
  std::vector<Instance> instances_;  // by number
  std::vector<Slot> free_;  // slots of open instances that were taken before: a heap, first first
  size_t taken_ = 0;
  size_t made_ = 0;    // how many have been taken at least once
  size_t unmade_ = 0;  // how many of open instances have not
  size_t most_ = 0;
};

}  // namespace tritonts

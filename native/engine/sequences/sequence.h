// A live sequence: its waiting requests, its place, and its control tensors.
//
//            START                     a slot is free                 no request waits or runs
//   (none) --------> in the backlog -----------------> in a slot <---------------------> idle
//                          |                             |    END, cancellation          |
//                          | cancellation, time-out      v    or close                   | too long
//                          '------------------------> (none) <---------------------------'
//
// Owned by a SequenceScheduler, and guarded by its version's lock, except the state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/request/request_queue.h"
#include "engine/request/sequence_mark.h"
#include "engine/sequences/sequence_state.h"

namespace tritonts {

struct SequenceEntry;

class Sequence {
 public:
  static constexpr uint64_t kNoSlot = ~uint64_t{0};
  enum class List : uint8_t { kNone, kBacklog, kIdle };

  SequenceId id;
  // The entry of its id. Null: the id is free again, because the last request has come, or it was
  // generated.
  SequenceEntry* entry = nullptr;
  // Its waiting requests, in order, without `candidate`.
  RequestQueue queue;
  // The request that waits for a batch of its instance's queue. Null: there is none.
  Request* candidate = nullptr;
  uint64_t slot = kNoSlot;  // its number (SequenceSlots::Slot)
  bool running = false;     // a request of it is in a run
  bool ended = false;       // it gets no further request
  bool generated = false;   // its id was generated for an iterative request
  // The list that it is in, and the links of that list.
  List list = List::kNone;
  Sequence* previous = nullptr;
  Sequence* next = nullptr;
  uint64_t idle_since_ns = 0;  // in the list of idle ones
  uint64_t expires_ns = 0;     // in the backlog; 0: never
  // The next sequence of the batch that its running request is in.
  Sequence* in_batch = nullptr;
  // The bytes of its id as a control tensor: a number, or a text with its length before it.
  alignas(8) std::array<char, 8> number_bytes = {};
  std::string text_bytes;
  std::unique_ptr<SequenceState> state;  // null: the model has none

  bool waits() const { return candidate || !queue.empty(); }
};

// A list of sequences. The links are in the sequences. It does not own them.
class SequenceList {
 public:
  explicit SequenceList(Sequence::List name) : name_(name) {}

  Sequence* front() const { return first_; }
  size_t size() const { return size_; }
  void Append(Sequence* sequence) {
    sequence->list = name_;
    sequence->next = nullptr;
    sequence->previous = last_;
    (last_ ? last_->next : first_) = sequence;
    last_ = sequence;
    size_++;
  }
  void Remove(Sequence* sequence) {
    (sequence->previous ? sequence->previous->next : first_) = sequence->next;
    (sequence->next ? sequence->next->previous : last_) = sequence->previous;
    sequence->next = sequence->previous = nullptr;
    sequence->list = Sequence::List::kNone;
    size_--;
  }

 private:
  const Sequence::List name_;
  Sequence* first_ = nullptr;
  Sequence* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritonts

// What is known of correlation ids: which sequence an id has now, or how its last one ended.
//
// The last kMostPast ids without a sequence are kept, so that a request that comes too late can be
// told why. Guarded by its owner's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "engine/request/sequence_mark.h"

namespace tritonts {

class Sequence;

// How a sequence ended.
enum class SequenceEnd : uint8_t {
  kEnded,      // its last request came
  kIdle,       // no request came for max_sequence_idle_microseconds
  kCancelled,  // one of its waiting requests was cancelled
  kExpired,    // the time-out of a request in the backlog was over
  kBroken,     // its state could not be kept
  kFailed,     // its requests were refused together, for example when no thread could start
};

// The time of an end that a scheduler is not told, such as a cancellation's.
constexpr uint64_t kUnknownTime = ~uint64_t{0};

struct SequenceEntry {
  Sequence* live = nullptr;
  SequenceEnd end = SequenceEnd::kEnded;  // of the last sequence, if none is live
  uint64_t ended_ns = 0;                  // or kUnknownTime; 0: the entry is not among the past ids
  const SequenceId* id = nullptr;         // the key in the map
  // Links of the past ids, oldest first.
  SequenceEntry* older = nullptr;
  SequenceEntry* newer = nullptr;
};

class SequenceIds {
 public:
  static constexpr size_t kMostPast = 1024;

  // Null: the id is not known.
  SequenceEntry* Find(const SequenceId& id);
  const SequenceEntry* Find(const SequenceId& id) const;
  // Returns the entry of an id, for a new sequence. Throws std::bad_alloc; then nothing changed.
  SequenceEntry* Add(const SequenceId& id);
  // Gives an entry from Add its sequence.
  void Begin(SequenceEntry* entry, Sequence* sequence);
  // Undoes Add.
  void Withdraw(SequenceEntry* entry);
  // The entry's sequence has ended. Does not allocate.
  void End(SequenceEntry* entry, SequenceEnd end, uint64_t now_ns);

 private:
  void Unlink(SequenceEntry* entry);
  void Forget(SequenceEntry* entry);

  std::unordered_map<SequenceId, SequenceEntry, SequenceIdHash> entries_;
  SequenceEntry* oldest_ = nullptr;  // of the past ids
  SequenceEntry* newest_ = nullptr;
  size_t past_ = 0;
};

// An id as text for messages: a number, or a quoted text.
std::string TextOf(const SequenceId& id);

}  // namespace tritonts

// The sequence that a request belongs to, as its sender says (Triton: correlation id and flags).
//
// A sender sets it before the request is submitted. Afterwards only its present owner writes to it:
// the scheduler sets `place`, and the id and START of an iterative request without an id, under its
// version's lock; a run clears the flags of a request that its model runs again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tritonts {

class Sequence;

// A correlation id: a number or a text. The number 0 and the empty text are no id. A number is
// never equal to a text.
struct SequenceId {
  uint64_t number = 0;
  std::string text;  // not empty: the id is the text, and `number` is 0

  bool none() const { return number == 0 && text.empty(); }
  bool operator==(const SequenceId&) const = default;
};

struct SequenceIdHash {
  size_t operator()(const SequenceId& id) const {
    return id.text.empty() ? std::hash<uint64_t>()(id.number) : std::hash<std::string>()(id.text);
  }
};

// Texts have at most so many bytes, as in Triton.
constexpr size_t kMostSequenceIdBytes = 128;

struct SequenceMark {
  SequenceId id;
  bool start = false;  // the first request of its sequence
  bool end = false;    // the last request of its sequence
  // Of the scheduler: where the request is.
  Sequence* place = nullptr;

  bool any() const { return start || end || !id.none(); }
  void Clear() {
    id.number = 0;
    id.text.clear();
    start = end = false;
    place = nullptr;
  }
};

// Of a request whose sender says nothing.
inline const SequenceMark kNoSequence;

}  // namespace tritonts

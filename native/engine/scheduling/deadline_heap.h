// A heap of the headers of waiting requests, by deadline. Requests that share a header share its
// deadline.
//
// A binary heap in an array. Each header stores its index (RequestHeader::waiting), so a header
// whose requests were served or cancelled is found at once. Headers with equal deadlines keep the
// order of their Add.
//
// Allocates only in Add, and keeps the memory. Not thread-safe: guarded by the lock of the
// scheduler's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/request/request.h"

namespace tritonts {

class DeadlineHeap {
 public:
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  RequestHeader* first() const { return entries_.front().header; }
  uint64_t first_ns() const { return entries_.front().at_ns; }
  // How often a header was moved, for tests.
  uint64_t moves() const { return moves_; }

  // Adds a header. Throws std::bad_alloc; then nothing has changed.
  void Add(RequestHeader* header) {
    entries_.push_back({header->deadline_ns, number_++, header});
    Rise(entries_.size() - 1);
  }
  // Removes a header, which must be in the heap.
  void Remove(RequestHeader* header) {
    const size_t place = header->waiting.place;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    Set(place, last);
    Rise(place);
    Sink(last.header->waiting.place);
  }

 private:
  struct Entry {
    uint64_t at_ns;
    uint64_t number;  // of its Add
    RequestHeader* header;
    bool Before(const Entry& other) const {
      return at_ns != other.at_ns ? at_ns < other.at_ns : number < other.number;
    }
  };

  void Set(size_t place, const Entry& entry) {
    moves_++;
    entries_[place] = entry;
    entry.header->waiting.place = place;
  }
  void Rise(size_t place) {
    const Entry entry = entries_[place];
    for (; place > 0 && entry.Before(entries_[(place - 1) / 2]); place = (place - 1) / 2) {
      Set(place, entries_[(place - 1) / 2]);
    }
    Set(place, entry);
  }
  void Sink(size_t place) {
    const Entry entry = entries_[place];
    while (true) {
      size_t child = 2 * place + 1;
      if (child >= entries_.size()) break;
      if (child + 1 < entries_.size() && entries_[child + 1].Before(entries_[child])) child++;
      if (!entries_[child].Before(entry)) break;
      Set(place, entries_[child]);
      place = child;
    }
    Set(place, entry);
  }

  std::vector<Entry> entries_;
  uint64_t number_ = 0;
  uint64_t moves_ = 0;
};

}  // namespace tritonts

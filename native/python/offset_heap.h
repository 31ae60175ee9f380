// The allocator of a heap in shared memory. Its bookkeeping is in the owner's private memory.
//
// The heap grows in steps: `commit` allocates pages for a range before anything is placed there.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "python/protocol.h"

namespace tritonts::python {

class OffsetHeap {
 public:
  using Commit = std::function<bool(uint64_t offset, uint64_t size, std::string* fault)>;
  using Return = std::function<void(uint64_t offset, uint64_t size)>;

  OffsetHeap() = default;
  OffsetHeap(uint64_t begin, uint64_t end, uint64_t growth, Commit commit, Return give_back)
      : begin_(begin),
        end_(end),
        growth_(growth),
        committed_(begin),
        commit_(std::move(commit)),
        return_(std::move(give_back)) {}

  // Returns the offset of `size` bytes, which is never 0. Returns 0 if there is no room, with the
  // reason in `fault`. May throw std::bad_alloc, with nothing changed.
  uint64_t Allocate(uint64_t size, std::string* fault) {
    const uint64_t wanted = Rounded(size);
    if (wanted < size) return Refuse(size, fault);
    auto found = free_.begin();
    while (found != free_.end() && found->second < wanted) ++found;
    if (found == free_.end()) {
      if (!Grow(wanted, fault)) return 0;
      found = std::prev(free_.end());
    }
    const auto [place, room] = *found;
    taken_.emplace(place, wanted);
    if (room > wanted) {
      // Reuses the map's node, so that this step cannot fail.
      auto node = free_.extract(found);
      node.key() = place + wanted;
      node.mapped() = room - wanted;
      free_.insert(std::move(node));
    } else {
      free_.erase(found);
    }
    used_ += wanted;
    return place;
  }

  // Returns the size of the allocation at an offset; 0: there is none.
  uint64_t SizeOf(uint64_t place) const {
    const auto known = taken_.find(place);
    return known == taken_.end() ? 0 : known->second;
  }

  // Returns false if nothing is allocated at this offset.
  bool Free(uint64_t place) {
    const auto known = taken_.find(place);
    if (known == taken_.end()) return false;
    auto node = taken_.extract(known);
    used_ -= node.mapped();
    const auto following = free_.upper_bound(place);
    if (following != free_.end() && place + node.mapped() == following->first) {
      node.mapped() += following->second;
      free_.erase(following);
    }
    const auto after = free_.upper_bound(place);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == place) {
        before->second += node.mapped();
        return true;
      }
    }
    free_.insert(std::move(node));
    return true;
  }

  uint64_t used() const { return used_; }
  uint64_t committed() const { return committed_ - begin_; }

  // Returns the unused end of the heap to the system, but keeps the first `keep` bytes.
  void Shrink(uint64_t keep) {
    if (free_.empty()) return;
    const auto last = std::prev(free_.end());
    if (last->first + last->second != committed_) return;
    uint64_t from = last->first > begin_ + keep ? last->first : begin_ + keep;
    from = (from + kPage - 1) / kPage * kPage;
    if (from >= committed_) return;
    return_(from, committed_ - from);
    if (from == last->first) {
      free_.erase(last);
    } else {
      last->second = from - last->first;
    }
    committed_ = from;
  }

 private:
  static uint64_t Rounded(uint64_t size) {
    const uint64_t unit = size > (uint64_t{64} << 10) ? kPage : kAlignment;
    return size == 0 ? unit : (size + unit - 1) / unit * unit;
  }

  uint64_t Refuse(uint64_t size, std::string* fault) const {
    *fault = "no room for " + std::to_string(size) +
             " bytes in shared memory: " + std::to_string(used_) + " of " +
             std::to_string(end_ - begin_) + " are used";
    return 0;
  }

  bool Grow(uint64_t wanted, std::string* fault) {
    uint64_t lacking = wanted;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == committed_) lacking = wanted - last->second;
    }
    uint64_t step = (lacking + growth_ - 1) / growth_ * growth_;
    if (step < lacking || step > end_ - committed_) step = lacking;
    if (step > end_ - committed_) return Refuse(wanted, fault) != 0;
    if (!commit_(committed_, step, fault)) return false;
    const uint64_t place = committed_;
    taken_.emplace(place, step);
    committed_ += step;
    used_ += step;
    return Free(place);
  }

  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t growth_ = kPage;
  uint64_t committed_ = 0;
  uint64_t used_ = 0;
  Commit commit_;
  Return return_;
  std::map<uint64_t, uint64_t> free_;   // sizes by offset; neighbours are merged
  std::map<uint64_t, uint64_t> taken_;  // sizes by offset; neighbours are not merged
};

}  // namespace tritonts::python

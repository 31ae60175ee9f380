// A hash table of cache entries by a number, which is a part of a hash already. The entries are not
// owned.
//
// Not thread-safe: its owner (local_cache.h) holds a lock. Nothing throws after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tritonts {

class CacheEntry;

class EntryTable {
 public:
  // Throws std::bad_alloc.
  EntryTable();

  // The entry with this number for which `matches` holds; null: none.
  template <typename Matches>
  CacheEntry* Find(uint64_t number, const Matches& matches) const {
    for (size_t i = number & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (!slot.entry) return nullptr;
      if (slot.number == number && matches(*slot.entry)) return slot.entry;
    }
  }
  // The first entry with this number; null: none.
  CacheEntry* First(uint64_t number) const {
    return Find(number, [](const CacheEntry&) { return true; });
  }
  // Makes room for one more entry. False: there is no memory.
  bool Grow() noexcept;
  // Adds an entry, for which there is room.
  void Put(uint64_t number, CacheEntry* entry);
  // Replaces an entry that is in the table under this number.
  void Replace(uint64_t number, const CacheEntry* entry, CacheEntry* by);
  // Removes an entry that is in the table under this number.
  void Remove(uint64_t number, const CacheEntry* entry);

 private:
  // Places are probed one by one. Each has the number, so that a look-up in vain touches no entry.
  struct Slot {
    uint64_t number = 0;
    CacheEntry* entry = nullptr;  // null: free
  };

  size_t PlaceOf(uint64_t number, const CacheEntry* entry) const;
  static void Put(Slot* slots, size_t mask, const Slot& slot);

  std::unique_ptr<Slot[]> slots_;
  size_t mask_;  // the number of slots, minus one; at least one slot is free
  size_t entries_ = 0;
};

}  // namespace tritonts

#include "engine/cache/entry_table.h"

#include <new>
#include <utility>

namespace tritonts {

namespace {

constexpr size_t kFewestSlots = 16;

}  // namespace

EntryTable::EntryTable()
    : slots_(std::make_unique<Slot[]>(kFewestSlots)), mask_(kFewestSlots - 1) {}

void EntryTable::Put(Slot* slots, size_t mask, const Slot& slot) {
  size_t i = slot.number & mask;
  while (slots[i].entry) i = (i + 1) & mask;
  slots[i] = slot;
}

bool EntryTable::Grow() noexcept {
  const size_t before = mask_ + 1;
  // At most three quarters are used, so that few slots are probed.
  if ((entries_ + 1) * 4 <= before * 3) return true;
  const size_t count = before * 2;
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[count]);
  // A table that is fuller is slower. One slot must be free.
  if (!slots) return entries_ + 1 < before;
  for (size_t i = 0; i < before; i++) {
    if (slots_[i].entry) Put(slots.get(), count - 1, slots_[i]);
  }
  slots_ = std::move(slots);
  mask_ = count - 1;
  return true;
}

void EntryTable::Put(uint64_t number, CacheEntry* entry) {
  Put(slots_.get(), mask_, {number, entry});
  entries_++;
}

size_t EntryTable::PlaceOf(uint64_t number, const CacheEntry* entry) const {
  size_t i = number & mask_;
  while (slots_[i].entry != entry) i = (i + 1) & mask_;
  return i;
}

void EntryTable::Replace(uint64_t number, const CacheEntry* entry, CacheEntry* by) {
  slots_[PlaceOf(number, entry)].entry = by;
}

void EntryTable::Remove(uint64_t number, const CacheEntry* entry) {
  size_t free = PlaceOf(number, entry);
  // The entries behind it move up, unless that would put them before their first slot.
  for (size_t i = (free + 1) & mask_; slots_[i].entry; i = (i + 1) & mask_) {
    if (((i - slots_[i].number) & mask_) < ((i - free) & mask_)) continue;
    slots_[free] = slots_[i];
    free = i;
  }
  slots_[free] = {};
  entries_--;
}

}  // namespace tritonts

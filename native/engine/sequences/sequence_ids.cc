#include "engine/sequences/sequence_ids.h"

namespace tritonts {

SequenceEntry* SequenceIds::Find(const SequenceId& id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const SequenceEntry* SequenceIds::Find(const SequenceId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

SequenceEntry* SequenceIds::Add(const SequenceId& id) {
  const auto [at, added] = entries_.try_emplace(id);
  if (added) at->second.id = &at->first;
  return &at->second;
}

void SequenceIds::Begin(SequenceEntry* entry, Sequence* sequence) {
  if (entry->ended_ns != 0) Unlink(entry);
  entry->live = sequence;
}

void SequenceIds::Withdraw(SequenceEntry* entry) {
  // A past id stays known.
  if (!entry->live && entry->ended_ns == 0) Forget(entry);
}

void SequenceIds::End(SequenceEntry* entry, SequenceEnd end, uint64_t now_ns) {
  entry->live = nullptr;
  entry->end = end;
  entry->ended_ns = now_ns > 0 ? now_ns : 1;
  entry->older = newest_;
  entry->newer = nullptr;
  (newest_ ? newest_->newer : oldest_) = entry;
  newest_ = entry;
  if (++past_ <= kMostPast) return;
  SequenceEntry* const forgotten = oldest_;
  Unlink(forgotten);
  Forget(forgotten);
}

void SequenceIds::Forget(SequenceEntry* entry) {
  entries_.erase(entries_.find(*entry->id));
}

void SequenceIds::Unlink(SequenceEntry* entry) {
  (entry->older ? entry->older->newer : oldest_) = entry->newer;
  (entry->newer ? entry->newer->older : newest_) = entry->older;
  entry->older = entry->newer = nullptr;
  entry->ended_ns = 0;
  past_--;
}

std::string TextOf(const SequenceId& id) {
  return id.text.empty() ? std::to_string(id.number) : "'" + id.text + "'";
}

}  // namespace tritonts

#include "engine/cache/local_cache.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"

namespace tritonts {

namespace {

// Memory of evicted entries that is kept for new ones, at most an eighth of the cache.
constexpr uint64_t kMostIdle = uint64_t{32} << 20;

// A number that an attacker does not know, who could else make keys with equal hashes.
uint64_t SomeSeed(const void* somewhere) {
  const uint64_t now = NowNs() ^ WallMs() << 32;
  KeyHasher hasher(reinterpret_cast<uintptr_t>(somewhere));
  hasher.Add(&now, sizeof(now));
  return hasher.Finish().low;
}

}  // namespace

LocalCache::LocalCache(uint64_t size, uint64_t ttl_ns)
    : size_(size),
      ttl_ns_(ttl_ns),
      seed_(SomeSeed(this)),
      pool_(static_cast<size_t>(std::min(size / 8, kMostIdle))) {}

LocalCache::~LocalCache() {
  for (Shard& shard : shards_) {
    while (CacheEntry* const entry = shard.oldest) {
      shard.oldest = entry->newer_;
      entry->Drop();
    }
  }
}

CacheEntry* LocalCache::EntryOf(const Shard& shard, const KeyHash& hash) {
  return shard.table.Find(hash.low, [&](const CacheEntry& entry) { return entry.hash_ == hash; });
}

void LocalCache::Link(Shard* shard, CacheEntry* entry, uint64_t now_ns) {
  entry->older_ = shard->newest;
  entry->newer_ = nullptr;
  // Threads read the clock before they take the lock, so a later one may have an earlier time.
  entry->used_ns_ = shard->newest ? std::max(now_ns, shard->newest->used_ns_) : now_ns;
  (shard->newest ? shard->newest->newer_ : shard->oldest) = entry;
  shard->newest = entry;
  shard->oldest_ns.store(shard->oldest->used_ns_, std::memory_order_relaxed);
}

void LocalCache::Unlink(Shard* shard, CacheEntry* entry) {
  (entry->older_ ? entry->older_->newer_ : shard->oldest) = entry->newer_;
  (entry->newer_ ? entry->newer_->older_ : shard->newest) = entry->older_;
  shard->oldest_ns.store(shard->oldest ? shard->oldest->used_ns_ : UINT64_MAX,
                         std::memory_order_relaxed);
}

CacheEntryRef LocalCache::Remove(Shard* shard, CacheEntry* entry) {
  shard->table.Remove(entry->hash_.low, entry);
  if (entry->sample_ != 0) RemoveCandidate(*entry);
  entry->stored_ = false;
  Unlink(shard, entry);
  shard->entries--;
  used_.fetch_sub(entry->cost(), std::memory_order_relaxed);
  return CacheEntryRef::Adopt(entry);
}

void LocalCache::SetCandidate(CacheEntry* entry) noexcept {
  Candidates& some = CandidatesOf(entry->sample_);
  std::lock_guard lock(some.mutex);
  if (CacheEntry* const known = some.table.First(entry->sample_)) {
    some.table.Replace(entry->sample_, known, entry);
  } else if (some.table.Grow()) {
    some.table.Put(entry->sample_, entry);
  }
}

void LocalCache::RemoveCandidate(const CacheEntry& entry) noexcept {
  Candidates& some = CandidatesOf(entry.sample_);
  std::lock_guard lock(some.mutex);
  if (some.table.First(entry.sample_) == &entry) some.table.Remove(entry.sample_, &entry);
}

CacheEntryRef LocalCache::FindCandidate(const KeyHead& head, const Request& request,
                                        uint64_t sample, uint64_t now_ns) noexcept {
  CacheEntryRef found;
  {
    Candidates& some = CandidatesOf(sample);
    std::lock_guard lock(some.mutex);
    CacheEntry* const entry = some.table.First(sample);
    if (!entry) return {};
    entry->Retain();
    found = CacheEntryRef::Adopt(entry);
  }
  if (!head.Equals(request, found->key())) return {};
  CacheEntryRef expired;  // freed without the lock
  Shard& shard = ShardOf(found->hash_);
  std::lock_guard lock(shard.mutex);
  if (Expired(*found, now_ns)) {
    if (found->stored_) expired = Remove(&shard, found.get());
    return {};
  }
  // Another thread may have evicted it meanwhile, and it still is the answer.
  if (found->stored_) {
    Unlink(&shard, found.get());
    Link(&shard, found.get(), now_ns);
  }
  shard.hits++;
  return found;
}

CacheEntryRef LocalCache::Find(const KeyHead& head, const Request& request, const KeyHash& hash,
                               uint64_t now_ns) noexcept {
  Shard& shard = ShardOf(hash);
  CacheEntryRef found;
  CacheEntryRef expired;  // freed without the lock
  {
    std::lock_guard lock(shard.mutex);
    CacheEntry* const entry = EntryOf(shard, hash);
    if (entry && Expired(*entry, now_ns)) {
      expired = Remove(&shard, entry);
    } else if (entry) {
      entry->Retain();
      found = CacheEntryRef::Adopt(entry);
      Unlink(&shard, entry);
      Link(&shard, entry, now_ns);
    }
    // Counted as a hit until the whole key was compared.
    (found ? shard.hits : shard.misses)++;
  }
  if (!found) return {};
  const bool equal = head.Equals(request, found->key());
  if (equal && found->sample_ == 0) return found;
  std::lock_guard lock(shard.mutex);
  if (equal) {
    // Its sample led to another entry, or to none.
    if (found->stored_) SetCandidate(found.get());
    return found;
  }
  shard.hits--;
  shard.misses++;
  return {};
}

bool LocalCache::Evict() noexcept {
  Shard* chosen = nullptr;
  uint64_t oldest_ns = UINT64_MAX;
  for (Shard& shard : shards_) {
    const uint64_t ns = shard.oldest_ns.load(std::memory_order_relaxed);
    if (ns >= oldest_ns) continue;
    oldest_ns = ns;
    chosen = &shard;
  }
  if (!chosen) return false;
  CacheEntryRef evicted;  // freed without the lock
  std::lock_guard lock(chosen->mutex);
  // Another thread may have evicted it meanwhile. The caller looks again.
  if (!chosen->oldest) return true;
  evicted = Remove(chosen, chosen->oldest);
  chosen->evictions++;
  return true;
}

LocalCache::Inserted LocalCache::Insert(CacheEntryRef entry, uint64_t now_ns) noexcept {
  const uint64_t cost = entry->cost();
  if (cost > size_) return Inserted::kTooLarge;
  Shard& shard = ShardOf(entry->hash_);
  CacheEntryRef expired;  // freed without the lock, like `entry` if it is not inserted
  // Make room first, so that the bound holds at every moment.
  used_.fetch_add(cost, std::memory_order_relaxed);
  while (used_.load(std::memory_order_relaxed) > size_) {
    if (Evict()) continue;
    // Insertions of other threads take all the room.
    used_.fetch_sub(cost, std::memory_order_relaxed);
    return Inserted::kTooLarge;
  }
  std::lock_guard lock(shard.mutex);
  if (CacheEntry* const other = EntryOf(shard, entry->hash_)) {
    if (other->IsFor(*entry) && !Expired(*other, now_ns)) {
      used_.fetch_sub(cost, std::memory_order_relaxed);
      return Inserted::kExists;
    }
    // Of two keys with one hash the later one stays, so that a look-up compares one.
    expired = Remove(&shard, other);
  }
  if (!shard.table.Grow()) {
    used_.fetch_sub(cost, std::memory_order_relaxed);
    return Inserted::kTooLarge;
  }
  CacheEntry* const inserted = entry.Release();
  inserted->expires_ns_ = ttl_ns_ == 0 ? 0 : now_ns + ttl_ns_;
  shard.table.Put(inserted->hash_.low, inserted);
  Link(&shard, inserted, now_ns);
  shard.entries++;
  inserted->stored_ = true;
  if (inserted->sample_ != 0) SetCandidate(inserted);
  return Inserted::kYes;
}

void LocalCache::Forget(uint32_t version) noexcept {
  for (Shard& shard : shards_) {
    CacheEntry* gone = nullptr;
    {
      std::lock_guard lock(shard.mutex);
      for (CacheEntry* entry = shard.oldest; entry;) {
        CacheEntry* const next = entry->newer_;
        if (entry->scope_ >> 32 == version) {
          CacheEntry* const removed = Remove(&shard, entry).Release();
          removed->newer_ = std::exchange(gone, removed);
        }
        entry = next;
      }
    }
    while (gone) {
      CacheEntry* const next = gone->newer_;
      gone->Drop();
      gone = next;
    }
  }
}

LocalCache::Counts LocalCache::counts() const noexcept {
  Counts counts;
  counts.size = size_;
  counts.used = used_.load(std::memory_order_relaxed);
  counts.lookup_ns = lookup_ns_.load(std::memory_order_relaxed);
  counts.insertion_ns = insertion_ns_.load(std::memory_order_relaxed);
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    counts.entries += shard.entries;
    counts.hits += shard.hits;
    counts.misses += shard.misses;
    counts.evictions += shard.evictions;
  }
  return counts;
}

}  // namespace tritonts

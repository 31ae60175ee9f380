#include "engine/cache/local_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/clock.h"

namespace tritonts {

namespace {

constexpr size_t kFewestBuckets = 16;

// A number that an attacker does not know, who could else make keys with equal hashes.
uint64_t SomeSeed(const void* somewhere) {
  const uint64_t now = NowNs() ^ WallMs() << 32;
  KeyHasher hasher(reinterpret_cast<uintptr_t>(somewhere));
  hasher.Add(&now, sizeof(now));
  return hasher.Finish().low;
}

}  // namespace

LocalCache::LocalCache(uint64_t size, uint64_t ttl_ns)
    : size_(size), ttl_ns_(ttl_ns), seed_(SomeSeed(this)) {
  for (Shard& shard : shards_) {
    shard.buckets = std::make_unique<CacheEntry*[]>(kFewestBuckets);
    shard.mask = kFewestBuckets - 1;
  }
}

LocalCache::~LocalCache() {
  for (Shard& shard : shards_) {
    while (CacheEntry* const entry = shard.oldest) {
      shard.oldest = entry->newer_;
      entry->Drop();
    }
  }
}

void LocalCache::Grow(Shard* shard) noexcept {
  const size_t count = (shard->mask + 1) * 2;
  std::unique_ptr<CacheEntry*[]> buckets(new (std::nothrow) CacheEntry*[count]());
  if (!buckets) return;  // longer lists are slower, and right
  shard->buckets = std::move(buckets);
  shard->mask = count - 1;
  for (CacheEntry* entry = shard->oldest; entry; entry = entry->newer_) {
    CacheEntry** const bucket = BucketOf(shard, entry->hash_);
    entry->next_ = std::exchange(*bucket, entry);
  }
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
  CacheEntry** at = BucketOf(shard, entry->hash_);
  while (*at != entry) at = &(*at)->next_;
  *at = entry->next_;
  Unlink(shard, entry);
  shard->entries--;
  used_.fetch_sub(entry->cost(), std::memory_order_relaxed);
  return CacheEntryRef::Adopt(entry);
}

CacheEntryRef LocalCache::Find(const KeyHead& head, const Request& request, const KeyHash& hash,
                               uint64_t now_ns) noexcept {
  Shard& shard = ShardOf(hash);
  CacheEntryRef found;
  CacheEntryRef expired;  // freed without the lock
  {
    std::lock_guard lock(shard.mutex);
    for (CacheEntry* entry = *BucketOf(&shard, hash); entry; entry = entry->next_) {
      if (!(entry->hash_ == hash)) continue;
      if (Expired(*entry, now_ns)) {
        expired = Remove(&shard, entry);
        break;
      }
      entry->Retain();
      found = CacheEntryRef::Adopt(entry);
      if (shard.newest != entry) {
        Unlink(&shard, entry);
        Link(&shard, entry, now_ns);
      } else {
        entry->used_ns_ = std::max(now_ns, entry->used_ns_);
        if (shard.oldest == entry) {
          shard.oldest_ns.store(entry->used_ns_, std::memory_order_relaxed);
        }
      }
      break;
    }
    // Counted as a hit until the whole key was compared.
    (found ? shard.hits : shard.misses)++;
  }
  if (!found || head.Equals(request, found->key())) return found;
  std::lock_guard lock(shard.mutex);
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
  for (CacheEntry* other = *BucketOf(&shard, entry->hash_); other; other = other->next_) {
    if (!(other->hash_ == entry->hash_)) continue;
    if (other->IsFor(*entry) && !Expired(*other, now_ns)) {
      used_.fetch_sub(cost, std::memory_order_relaxed);
      return Inserted::kExists;
    }
    // Two keys with one hash do not both stay, so that a look-up compares one.
    expired = Remove(&shard, other);
    break;
  }
  CacheEntry* const inserted = entry.Release();
  inserted->expires_ns_ = ttl_ns_ == 0 ? 0 : now_ns + ttl_ns_;
  CacheEntry** const bucket = BucketOf(&shard, inserted->hash_);
  inserted->next_ = std::exchange(*bucket, inserted);
  Link(&shard, inserted, now_ns);
  if (++shard.entries > shard.mask + 1) Grow(&shard);
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
          removed->next_ = std::exchange(gone, removed);
        }
        entry = next;
      }
    }
    while (gone) {
      CacheEntry* const next = gone->next_;
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

// The response cache in the memory of the process.
//
// It is bounded by bytes: entries count with everything around them. If a new entry does not fit,
// the entries that were used longest ago are evicted. It is divided into shards by the hash, each
// with a lock and an order of use of its own, so threads rarely wait for each other. The bound and
// the order of eviction are those of the whole cache: each shard shows the time of its oldest use,
// and the oldest of all is evicted.
//
// Large keys are also found without a hash of all their bytes. A sample of them leads to one
// candidate, the entry that was last found or inserted with this sample, which is compared whole:
//
//   sample --> candidate == key? --yes--> a hit
//                            '---no-----> hash of the whole key --> entry == key?
//
// A server owns its cache, and its versions' layers (cache_layer.h) share it. Any thread may call
// any function. Nothing throws: without memory, nothing is inserted. A look-up compares keys, and
// memory is freed, with no lock held.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "engine/cache/cache_entry.h"
#include "engine/cache/cache_key.h"
#include "engine/cache/entry_table.h"

namespace tritonts {

class LocalCache {
 public:
  // The scope of a version's keys (cache_key.h).
  static uint64_t ScopeOf(uint32_t version, uint32_t generation) {
    return uint64_t{version} << 32 | generation;
  }

  // `size`: bytes. `ttl_ns`: how long an entry is used after it was inserted; 0: without limit. An
  // expired entry occupies its memory until it is looked up or evicted. Throws std::bad_alloc.
  explicit LocalCache(uint64_t size, uint64_t ttl_ns = 0);
  ~LocalCache();
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;

  // The most bytes of all entries.
  uint64_t size() const { return size_; }
  // The seed of the hashes (KeyHead).
  uint64_t seed() const { return seed_; }

  // For entries.
  BlockPool& pool() { return pool_; }

  // The candidate for the key of a request, if it has that key. Empty: it has not, or there is no
  // candidate; then the caller asks Find, which counts the miss. `sample` is KeyHead::SampleOf, and
  // not 0.
  CacheEntryRef FindCandidate(const KeyHead& head, const Request& request, uint64_t sample,
                              uint64_t now_ns) noexcept;
  // The entry with the key of a request, whose head and hash these are. Empty: there is none.
  CacheEntryRef Find(const KeyHead& head, const Request& request, const KeyHash& hash,
                     uint64_t now_ns) noexcept;

  enum class Inserted {
    kYes,
    kExists,   // an entry with this key is there already, and stays
    kTooLarge  // the entry does not fit, even alone, or there is no memory
  };
  // Inserts a filled entry.
  Inserted Insert(CacheEntryRef entry, uint64_t now_ns) noexcept;

  // Removes all entries with scopes of a version, from generation 0 on. They do not count as
  // evicted.
  void Forget(uint32_t version) noexcept;

  // Adds to the durations of look-ups and insertions.
  void NoteLookups(uint64_t ns) { lookup_ns_.fetch_add(ns, std::memory_order_relaxed); }
  void NoteInsertions(uint64_t ns) { insertion_ns_.fetch_add(ns, std::memory_order_relaxed); }

  // Sums since the cache was made, but for the first three, which are as of now.
  struct Counts {
    uint64_t size = 0;  // the bound
    uint64_t used = 0;  // bytes
    uint64_t entries = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
    uint64_t lookup_ns = 0;
    uint64_t insertion_ns = 0;
  };
  Counts counts() const noexcept;

 private:
  static constexpr size_t kShards = 32;

  // On cache lines of its own, so that threads in different shards do not disturb each other.
  struct alignas(128) Shard {
    mutable std::mutex mutex;  // guards all below
    // When the oldest entry was last used; UINT64_MAX: there is no entry. Read without the lock.
    std::atomic<uint64_t> oldest_ns{UINT64_MAX};
    EntryTable table;  // by KeyHash::low
    size_t entries = 0;
    CacheEntry* newest = nullptr;
    CacheEntry* oldest = nullptr;
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
  };

  // The candidates of some samples. Its lock is taken with or without that of a shard, and nothing
  // is called under it.
  struct alignas(128) Candidates {
    std::mutex mutex;  // guards all below
    EntryTable table;  // by sample; one entry for each
  };

  Candidates& CandidatesOf(uint64_t sample) { return candidates_[(sample >> 32) % kShards]; }
  // Makes an entry with a sample, which is in a shard, the candidate for it. The caller holds the
  // shard's lock, so that the entry stays in the shard.
  void SetCandidate(CacheEntry* entry) noexcept;
  void RemoveCandidate(const CacheEntry& entry) noexcept;

  Shard& ShardOf(const KeyHash& hash) { return shards_[hash.high % kShards]; }
  // All of these are called with the shard's lock held. The entry with a hash; null: none.
  static CacheEntry* EntryOf(const Shard& shard, const KeyHash& hash);
  static void Link(Shard* shard, CacheEntry* entry, uint64_t now_ns);
  static void Unlink(Shard* shard, CacheEntry* entry);
  // Takes an entry out of the shard. The caller drops the reference without the lock.
  CacheEntryRef Remove(Shard* shard, CacheEntry* entry);
  static bool Expired(const CacheEntry& entry, uint64_t now_ns) {
    return entry.expires_ns_ != 0 && now_ns >= entry.expires_ns_;
  }
  // Evicts the entry that was used longest ago. False: there is no entry.
  bool Evict() noexcept;

  const uint64_t size_;
  const uint64_t ttl_ns_;
  const uint64_t seed_;
  BlockPool pool_;
  std::array<Shard, kShards> shards_;
  std::array<Candidates, kShards> candidates_;
  alignas(128) std::atomic<uint64_t> used_{0};
  alignas(128) std::atomic<uint64_t> lookup_ns_{0};
  alignas(128) std::atomic<uint64_t> insertion_ns_{0};
};

}  // namespace tritonts

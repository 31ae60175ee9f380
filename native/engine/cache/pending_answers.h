// The requests of a cached version that wait for an answer which the cache lacks.
//
// The first request with a key is the leader: it runs, and its entry is filled with its answer.
// Later requests with that key may follow it: they do not run, and get the same answer.
//
//   by key:      entry --> leader ---> follower ---> follower
//   by request:  request --> its ticket, whether it leads or follows
//
// A layer (cache_layer.h) owns it and calls it with its lock held. Nothing throws, and memory is
// kept for later tickets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/cache/cache_entry.h"

namespace tritonts {

// A request's place here.
struct PendingTicket {
  Request* request = nullptr;       // not owned
  CacheEntryRef entry;              // of a leader; not filled yet
  uint64_t lookup_ns = 0;           // how long the look-up took
  uint64_t level = 0;               // of a leader: the level at which it waits in the queue
  bool may_lead = false;            // whether the leader may have followers
  PendingTicket* leader = nullptr;  // of a follower
  // Of a leader: its followers. Of a follower: its neighbours among them.
  PendingTicket* first = nullptr;
  PendingTicket* last = nullptr;
  PendingTicket* next = nullptr;
  PendingTicket* previous = nullptr;
  // In the tables.
  PendingTicket* next_by_request = nullptr;
  PendingTicket* next_by_key = nullptr;
};

class PendingAnswers {
 public:
  PendingAnswers() = default;
  ~PendingAnswers();
  PendingAnswers(const PendingAnswers&) = delete;
  PendingAnswers& operator=(const PendingAnswers&) = delete;

  size_t followers() const { return followers_; }
  bool empty() const { return size_ == 0; }

  // The leader with the key of this entry, if it may have followers; null: none.
  PendingTicket* LeaderOf(const CacheEntry& entry);
  // Adds a leader; with `may_lead` later requests may follow it. Null: there is no memory.
  PendingTicket* Lead(Request* request, CacheEntryRef entry, bool may_lead);
  // Adds a follower. Null: there is no memory.
  PendingTicket* Follow(Request* request, PendingTicket* leader);
  // The ticket of a request; null: it has none.
  PendingTicket* Find(const Request* request);
  // Takes all followers out of all tables. Returns the first of them, which are linked by `next`.
  // The caller frees each.
  PendingTicket* TakeFollowers();

  // Takes a leader out of the table of requests: it has its answer. Later requests still follow it,
  // until Unlead.
  void Answered(PendingTicket* leader);
  // Ends a leader that was answered. Returns the first of its followers, which are out of all
  // tables and linked by `next`. The caller frees each.
  PendingTicket* Unlead(PendingTicket* leader);
  // Makes the first follower the leader of the others. Returns it; null: there was none. The former
  // leader, which was answered, is freed.
  PendingTicket* Promote(PendingTicket* leader);
  // Takes a follower out of all tables. The caller frees it.
  void Leave(PendingTicket* follower);
  // Frees a ticket that is in no table.
  void Free(PendingTicket* ticket);

 private:
  PendingTicket* Take();
  static size_t Spread(const Request* request);
  bool Reserve();
  void AddByRequest(PendingTicket* ticket);
  void RemoveByRequest(PendingTicket* ticket);
  void RemoveByKey(PendingTicket* ticket);

  // Both tables have the same number of buckets.
  std::unique_ptr<PendingTicket*[]> by_request_;
  std::unique_ptr<PendingTicket*[]> by_key_;
  size_t mask_ = 0;
  size_t size_ = 0;
  size_t followers_ = 0;
  PendingTicket* free_ = nullptr;
};

}  // namespace tritonts

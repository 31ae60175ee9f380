// Requests that wait under a queue policy: by level, within a level those in time before those that
// are delayed, and first in first out among these. Past their deadlines they are taken out, or
// delayed; beyond max_queue_size they are not taken in.
//
//   level 1, in time | level 1, delayed | level 2, in time | level 2, delayed | ...
//
// All of them are one list, in the order in which they are served, so that who makes batches walks
// it as it walks any queue. A *part* is what one level has in time, or delayed.
//
// What has a deadline is in a heap, too, with one entry for all that share a header. So an expiry
// takes as long as the logarithm of how many wait, whichever order the deadlines have. Requests are
// delayed in the order of their deadlines.
//
// Requests of a header mostly follow each other in their part. Where some of them were queued again
// later, behind others, the next one is looked for when those before have left.
//
// Memory is asked for at the first request of a level or header. Levels stay for the next ones, but
// not in any number: each request that ever came may have named another one. Not thread-safe: the
// lock of its scheduler's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/request/request_queue.h"
#include "engine/scheduling/deadline_heap.h"
#include "engine/scheduling/queue_policy.h"
#include "engine/scheduling/scheduler.h"

namespace tritonts {

class LevelQueue {
 public:
  // `model`: whose it is, for what is said of a full queue.
  LevelQueue(std::shared_ptr<const QueuePolicies> policies, std::string model);

  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  Request* front() const { return list_.front(); }
  // How many levels are kept.
  size_t levels() const { return levels_.size(); }

  // Takes requests in, in order, and returns how many. The one after these was refused, with the
  // status that `refused` is set to: UNAVAILABLE where its level is full, or no memory.
  size_t Append(std::span<Request* const> requests, Status* refused) noexcept;
  void Remove(Request* request);
  // Takes `count` requests out from `first` on, which are in the queue one after the other.
  void TakeNeighbours(Request* first, size_t count, Request** taken);
  // See Scheduler::Expire.
  void Expire(uint64_t now_ns, Expired* expired);
  // How much Expire and the bookkeeping for it have done so far: what a test counts.
  uint64_t work() const { return looked_ + rejected_.moves() + delayed_.moves(); }

 private:
  static constexpr size_t kMostKept = 64;

  struct Part {
    Request* first = nullptr;
    Request* last = nullptr;
    size_t size = 0;
  };
  struct Level {
    const QueuePolicy* policy = nullptr;
    Status full;  // what is said then
    Part in_time;
    Part delayed;

    size_t size() const { return in_time.size + delayed.size; }
  };
  using Levels = std::map<uint64_t, Level>;

  // Whether its deadline is still to come.
  static bool Expires(const Request& request) {
    return request.header->deadline_ns != 0 && !request.delayed;
  }
  // Where the deadlines of a level are.
  DeadlineHeap& HeapOf(const Level& level) {
    return level.policy->on_timeout == QueuePolicy::OnTimeout::kDelay ? delayed_ : rejected_;
  }
  static Part& PartOf(const Request& request, Level* level) {
    return request.delayed ? level->delayed : level->in_time;
  }
  // The level, which there is already.
  Level& LevelOf(const Request& request);
  // The same; makes it where there is none. Throws std::bad_alloc.
  Level& MakeLevel(uint64_t number);
  // Forgets the levels that have no requests.
  void ForgetEmpty();
  // Append for requests of one header. Throws std::bad_alloc; then none of them was taken in.
  size_t AppendAlike(std::span<Request* const> requests, Status* refused);
  // Behind the last one of their part, which is the same for all.
  void Insert(std::span<Request* const> requests, Level* level);
  // Notes the deadline of requests of one header that are to be appended. Throws std::bad_alloc.
  void NoteDeadline(std::span<Request* const> requests, const Level& level);
  // `count` requests of one header, which follow each other and are in the queue still, leave it
  // before their deadline.
  void ForgetDeadline(Request* first, size_t count);
  // `first` to `last`, of which there are `count` in the part, leave it.
  static void Leave(Part* part, const Request* first, const Request* last, size_t count);
  // All of its requests have missed their deadline.
  void ExpireHeader(RequestHeader* header, Expired* expired);

  const std::shared_ptr<const QueuePolicies> policies_;
  const std::string model_;
  bool has_deadlines_ = false;  // some level may have one
  // The deadlines of those in time: of levels that reject, and of those that delay, for which
  // nobody is to be woken.
  DeadlineHeap rejected_;
  DeadlineHeap delayed_;
  uint64_t looked_ = 0;  // requests that were looked at for their deadlines
  RequestQueue list_;
  Levels levels_;
  size_t most_kept_ = kMostKept;  // with more, those without requests are forgotten
  Levels::iterator recent_;       // the one that was asked for last; end: none
};

}  // namespace tritonts

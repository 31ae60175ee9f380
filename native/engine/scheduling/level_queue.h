// Requests that wait under a queue policy: by level, within a level those in time before those that
// are delayed, and first in first out among these. Past their deadlines they are taken out, or
// delayed; beyond max_queue_size they are not taken in.
//
//   level 1, in time | level 1, delayed | level 2, in time | level 2, delayed | ...
//
// All of them are one list, in the order in which they are served, so that who makes batches walks
// it as it walks any queue. A *part* is what one level has in time, or delayed.
//
// Deadlines of a part mostly ascend, and then its first ones are all that is looked at. Where
// requests bring their own, a part is gone through, but not before the earliest of its deadlines.
//
// Memory is asked for at the first request of a level. Levels stay for the next ones, but not in
// any number: each request that ever came may have named another one. Not thread-safe: the lock of
// its scheduler's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "engine/request/request_queue.h"
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

  // UNAVAILABLE where the level is full. Throws std::bad_alloc.
  Status Append(Request* request);
  void Remove(Request* request);
  // Takes `count` requests out from `first` on, which are in the queue one after the other.
  void TakeNeighbours(Request* first, size_t count, Request** taken);
  // See Scheduler::Expire.
  void Expire(uint64_t now_ns, Decision* decision);

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
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
    uint64_t earliest_ns = kNever;  // none of those in time has a deadline before
    uint64_t latest_ns = 0;         // the last deadline that was appended, while they ascend
    bool ascending = true;

    size_t size() const { return in_time.size + delayed.size; }
  };
  using Levels = std::map<uint64_t, Level>;

  static uint64_t DeadlineOf(const Request& request) {
    const uint64_t at = request.header->deadline_ns;
    return at == 0 ? kNever : at;
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
  // Behind the last one of its part.
  void Insert(Request* request, Level* level);
  static void NoteDeadline(uint64_t at_ns, Level* level);
  // `first` to `last`, of which there are `count` in the part, leave it.
  static void Leave(Part* part, const Request* first, const Request* last, size_t count);
  void ExpireLevel(uint64_t now_ns, Level* level, Decision* decision);

  const std::shared_ptr<const QueuePolicies> policies_;
  const std::string model_;
  bool has_deadlines_ = false;  // some level may have one
  RequestQueue list_;
  Levels levels_;
  size_t most_kept_ = kMostKept;  // with more, those without requests are forgotten
  Levels::iterator recent_;       // the one that was asked for last; end: none
};

}  // namespace tritonts

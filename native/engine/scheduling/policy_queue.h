// A queue of requests under a queue policy. It is ordered by level; within a level, requests in
// time come before delayed ones; each of these parts is FIFO. A request that has passed its
// deadline is removed or delayed (Expire). A request beyond max_queue_size is refused (Append).
//
//   level 1, in time | level 1, delayed | level 2, in time | level 2, delayed | ...
//
// All requests form one list, in the order in which they are served, so that a batch rule walks it
// like any other queue. A *part* is the in-time or the delayed requests of one level.
//
// Requests with a deadline are also in a heap, with one entry for each header. So an expiry takes
// logarithmic time, whatever the order of the deadlines. Requests become delayed in the order of
// their deadlines.
//
// Requests of a header are mostly adjacent in their part. Some of them may have been queued again
// later, behind others. Then the queue searches for the next one when the earlier ones have left.
//
// Allocates at the first request of a level or header. Empty levels are kept for reuse, up to a
// limit, because each request may name a new level. Not thread-safe: guarded by the lock of the
// scheduler's owner.
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

class PolicyQueue {
 public:
  // `model`: the model's name, for the error of a full queue.
  PolicyQueue(std::shared_ptr<const QueuePolicies> policies, std::string model);

  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  Request* front() const { return list_.front(); }
  // How many levels are kept.
  size_t levels() const { return levels_.size(); }

  // Appends requests, in order, and returns how many were accepted. If a request is refused, the
  // rest are not appended and `refused` is set: UNAVAILABLE for a full level, or out of memory.
  size_t Append(std::span<Request* const> requests, Status* refused) noexcept;
  void Remove(Request* request);
  // Removes `count` requests from `first` on, which must be adjacent in the queue.
  void TakeNeighbours(Request* first, size_t count, Request** taken);
  // See Scheduler::Expire.
  void Expire(uint64_t now_ns, Expired* expired);
  // How much work Expire and its bookkeeping have done so far, for tests.
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
    Status full;  // the error when the level is full
    Part in_time;
    Part delayed;

    size_t size() const { return in_time.size + delayed.size; }
  };
  using Levels = std::map<uint64_t, Level>;

  // Whether the request has a deadline that it has not passed.
  static bool Expires(const Request& request) {
    return request.header->deadline_ns != 0 && !request.delayed;
  }
  // The heap that has the deadlines of a level.
  DeadlineHeap& HeapOf(const Level& level) {
    return level.policy->on_timeout == QueuePolicy::OnTimeout::kDelay ? delayed_ : rejected_;
  }
  static Part& PartOf(const Request& request, Level* level) {
    return request.delayed ? level->delayed : level->in_time;
  }
  // The level of a queued request, which must exist.
  Level& LevelOf(const Request& request);
  // Finds a level or creates it. Throws std::bad_alloc.
  Level& MakeLevel(uint64_t number);
  // Erases the levels that have no requests.
  void ForgetEmpty();
  // Append for requests of one header. Throws std::bad_alloc; then none was accepted.
  size_t AppendAlike(std::span<Request* const> requests, Status* refused);
  // Inserts requests at the end of their part, which is the same for all of them.
  void Insert(std::span<Request* const> requests, Level* level);
  // Registers the deadline of requests of one header before they are inserted. Throws
  // std::bad_alloc.
  void NoteDeadline(std::span<Request* const> requests, const Level& level);
  // Unregisters `count` adjacent requests of one header before they leave the queue in time.
  void ForgetDeadline(Request* first, size_t count);
  // Removes `first` to `last`, which are `count` requests, from a part.
  static void Leave(Part* part, const Request* first, const Request* last, size_t count);
  // Removes or delays all requests of a header, which have missed their deadline.
  void ExpireHeader(RequestHeader* header, Expired* expired);

  const std::shared_ptr<const QueuePolicies> policies_;
  const std::string model_;
  bool has_deadlines_ = false;  // whether a level may have a deadline
  // Deadlines of in-time requests: of levels that reject, and of levels that delay. The latter need
  // no wake-up.
  DeadlineHeap rejected_;
  DeadlineHeap delayed_;
  uint64_t looked_ = 0;  // requests visited because of their deadlines
  RequestQueue list_;
  Levels levels_;
  size_t most_kept_ = kMostKept;  // above this number of levels, empty ones are erased
  Levels::iterator recent_;       // the level that was looked up last; end: none
};

}  // namespace tritonts

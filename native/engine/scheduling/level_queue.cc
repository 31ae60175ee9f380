#include "engine/scheduling/level_queue.h"

#include <algorithm>
#include <utility>

namespace tritonts {

namespace {

bool HasDeadlines(const QueuePolicy& policy) {
  return policy.default_timeout_ns > 0 || policy.allow_timeout_override;
}

}  // namespace

LevelQueue::LevelQueue(std::shared_ptr<const QueuePolicies> policies, std::string model)
    : policies_(std::move(policies)), model_(std::move(model)), recent_(levels_.end()) {
  has_deadlines_ = HasDeadlines(policies_->general) ||
                   std::any_of(policies_->own.begin(), policies_->own.end(),
                               [](const auto& own) { return HasDeadlines(own.second); });
}

LevelQueue::Level& LevelQueue::LevelOf(const Request& request) {
  // Neighbours are mostly of one level.
  const uint64_t number = request.header->level;
  if (recent_ == levels_.end() || recent_->first != number) recent_ = levels_.find(number);
  return recent_->second;
}

LevelQueue::Level& LevelQueue::MakeLevel(uint64_t number) {
  if (recent_ != levels_.end() && recent_->first == number) return recent_->second;
  const auto found = levels_.find(number);
  if (found != levels_.end()) {
    recent_ = found;
    return found->second;
  }
  if (levels_.size() >= most_kept_) ForgetEmpty();
  Level level;
  level.policy = &policies_->Of(number);
  if (const uint64_t most = level.policy->max_queue_size; most > 0) {
    const std::string where = policies_->levels > 0
                                  ? "the queue of priority level " + std::to_string(number)
                                  : std::string("its queue");
    const std::string count = std::to_string(most);
    level.full = Status::Unavailable("model '" + model_ + "': " + where +
                                     " is full: max_queue_size is " + count + ", and " + count +
                                     (most == 1 ? " request waits" : " requests wait"));
  }
  recent_ = levels_.emplace(number, std::move(level)).first;
  return recent_->second;
}

void LevelQueue::ForgetEmpty() {
  std::erase_if(levels_, [](const auto& one) { return one.second.size() == 0; });
  recent_ = levels_.end();
  // Not again before as many are new, so that each costs little.
  most_kept_ = std::max(kMostKept, 2 * levels_.size());
}

void LevelQueue::Insert(Request* request, Level* level) {
  Part& part = PartOf(*request, level);
  const Request* behind = part.last;
  if (!behind && request->delayed) behind = level->in_time.last;
  // The first of its level: behind the one before that has any. `level` is the recent one.
  for (auto other = recent_; !behind && other != levels_.begin();) {
    --other;
    const Level& before = other->second;
    behind = before.delayed.last ? before.delayed.last : before.in_time.last;
  }
  list_.InsertBehind(const_cast<Request*>(behind), request);
  if (part.size++ == 0) part.first = request;
  part.last = request;
}

void LevelQueue::NoteDeadline(uint64_t at_ns, Level* level) {
  level->earliest_ns = std::min(level->earliest_ns, at_ns);
  level->ascending = level->ascending && at_ns >= level->latest_ns;
  level->latest_ns = at_ns;
}

Status LevelQueue::Append(Request* request) {
  Level& level = MakeLevel(request->header->level);
  const uint64_t most = level.policy->max_queue_size;
  if (most > 0 && level.size() >= most) return level.full;
  request->delayed = false;
  if (has_deadlines_) {
    if (level.in_time.size == 0) {
      level.earliest_ns = kNever;
      level.latest_ns = 0;
      level.ascending = true;
    }
    NoteDeadline(DeadlineOf(*request), &level);
  }
  Insert(request, &level);
  return Status::Ok();
}

void LevelQueue::Leave(Part* part, const Request* first, const Request* last, size_t count) {
  part->size -= count;
  if (part->first == first) part->first = part->size == 0 ? nullptr : last->next;
  if (part->last == last) part->last = part->size == 0 ? nullptr : first->previous;
}

void LevelQueue::Remove(Request* request) {
  Leave(&PartOf(*request, &LevelOf(*request)), request, request, 1);
  list_.Remove(request);
}

void LevelQueue::TakeNeighbours(Request* first, size_t count, Request** taken) {
  Request* begin = first;
  for (size_t left = count; left > 0;) {
    Part& part = PartOf(*begin, &LevelOf(*begin));
    // All of a part, or as many of it as there are to take.
    size_t size = part.size;
    Request* last = part.last;
    if (begin != part.first || size > left) {
      last = begin;
      for (size = 1; size < left && last != part.last; size++) last = last->next;
    }
    Request* const next = last->next;
    Leave(&part, begin, last, size);
    begin = next;
    left -= size;
  }
  list_.TakeNeighbours(first, count, taken);
}

void LevelQueue::ExpireLevel(uint64_t now_ns, Level* level, Decision* decision) {
  const bool first_only = level->ascending;
  level->earliest_ns = kNever;
  level->latest_ns = 0;
  level->ascending = true;
  Request* request = level->in_time.first;
  for (size_t left = level->in_time.size; left > 0; left--) {
    Request* const next = request->next;
    const uint64_t at = DeadlineOf(*request);
    if (at > now_ns) {
      NoteDeadline(at, level);
      if (first_only) {
        level->latest_ns = DeadlineOf(*level->in_time.last);
        return;
      }
    } else {
      Leave(&level->in_time, request, request, 1);
      list_.Remove(request);
      if (level->policy->on_timeout == QueuePolicy::OnTimeout::kDelay) {
        request->delayed = true;
        Insert(request, level);
      } else {
        decision->expire.push_back(request);
      }
    }
    request = next;
  }
}

void LevelQueue::Expire(uint64_t now_ns, Decision* decision) {
  if (!has_deadlines_) return;
  for (recent_ = levels_.begin(); recent_ != levels_.end(); ++recent_) {
    Level& level = recent_->second;
    if (level.in_time.size == 0) continue;
    if (level.ascending) level.earliest_ns = DeadlineOf(*level.in_time.first);
    if (level.earliest_ns <= now_ns) ExpireLevel(now_ns, &level, decision);
    // What is delayed is so when somebody next looks at the queue; of that nobody is to be told.
    if (level.policy->on_timeout == QueuePolicy::OnTimeout::kDelay) continue;
    if (level.in_time.size == 0 || level.earliest_ns == kNever) continue;
    if (decision->wake_at_ns == 0 || level.earliest_ns < decision->wake_at_ns) {
      decision->wake_at_ns = level.earliest_ns;
    }
  }
}

}  // namespace tritonts

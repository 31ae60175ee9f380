#include "engine/scheduling/policy_queue.h"

#include <algorithm>
#include <utility>

namespace tritonts {

namespace {

bool HasDeadlines(const QueuePolicy& policy) {
  return policy.default_timeout_ns > 0 || policy.allow_timeout_override;
}

}  // namespace

PolicyQueue::PolicyQueue(std::shared_ptr<const QueuePolicies> policies, std::string model)
    : policies_(std::move(policies)), model_(std::move(model)), recent_(levels_.end()) {
  has_deadlines_ = HasDeadlines(policies_->general) ||
                   std::any_of(policies_->own.begin(), policies_->own.end(),
                               [](const auto& own) { return HasDeadlines(own.second); });
}

PolicyQueue::Level& PolicyQueue::LevelOf(const Request& request) {
  // Neighbours mostly have the same level.
  const uint64_t number = request.header->level;
  if (recent_ == levels_.end() || recent_->first != number) recent_ = levels_.find(number);
  return recent_->second;
}

PolicyQueue::Level& PolicyQueue::MakeLevel(uint64_t number) {
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
    level.full = Status::Unavailable(
        Reason::kQueueFull, "model '" + model_ + "': " + where + " is full: max_queue_size is " +
                                count + ", and " + count +
                                (most == 1 ? " request waits" : " requests wait"));
  }
  recent_ = levels_.emplace(number, std::move(level)).first;
  return recent_->second;
}

void PolicyQueue::ForgetEmpty() {
  std::erase_if(levels_, [](const auto& one) { return one.second.size() == 0; });
  recent_ = levels_.end();
  // The limit grows with the number of levels in use, so that the cost of each new level is
  // constant.
  most_kept_ = std::max(kMostKept, 2 * levels_.size());
}

void PolicyQueue::Insert(std::span<Request* const> requests, Level* level) {
  Part& part = PartOf(*requests.front(), level);
  Request* behind = part.last;
  if (!behind && requests.front()->delayed) behind = level->in_time.last;
  // The first request of its level goes behind the last one of a level before it. `recent_` is
  // `level`.
  for (auto other = recent_; !behind && other != levels_.begin();) {
    --other;
    const Level& before = other->second;
    behind = before.delayed.last ? before.delayed.last : before.in_time.last;
  }
  list_.InsertBehind(behind, requests);
  if (part.size == 0) part.first = requests.front();
  part.size += requests.size();
  part.last = requests.back();
}

void PolicyQueue::NoteDeadline(std::span<Request* const> requests, const Level& level) {
  RequestHeader* const header = requests.front()->header;
  RequestHeader::Waiting& waiting = header->waiting;
  if (waiting.count == 0) {
    HeapOf(level).Add(header);
    waiting.first = requests.front();
  }
  waiting.count += static_cast<uint32_t>(requests.size());
}

void PolicyQueue::ForgetDeadline(Request* first, size_t count) {
  RequestHeader* const header = first->header;
  RequestHeader::Waiting& waiting = header->waiting;
  waiting.count -= static_cast<uint32_t>(count);
  if (waiting.count == 0) return HeapOf(LevelOf(*first)).Remove(header);
  if (waiting.first != first) return;
  for (; count > 0; count--) first = first->next;
  for (looked_++; first->header != header; looked_++) first = first->next;
  waiting.first = first;
}

size_t PolicyQueue::Append(std::span<Request* const> requests, Status* refused) noexcept {
  for (size_t taken = 0; taken < requests.size();) {
    const RequestHeader* const header = requests[taken]->header;
    size_t alike = 1;
    while (taken + alike < requests.size() && requests[taken + alike]->header == header) alike++;
    size_t count = 0;
    try {
      count = AppendAlike(requests.subspan(taken, alike), refused);
    } catch (const std::bad_alloc&) {
      *refused = Status::NoMemory();
    }
    taken += count;
    if (count < alike) return taken;
  }
  return requests.size();
}

size_t PolicyQueue::AppendAlike(std::span<Request* const> requests, Status* refused) {
  Level& level = MakeLevel(requests.front()->header->level);
  if (const uint64_t most = level.policy->max_queue_size; most > 0) {
    const size_t room = most - std::min<uint64_t>(most, level.size());
    if (room < requests.size()) *refused = level.full;
    requests = requests.first(std::min(room, requests.size()));
    if (requests.empty()) return 0;
  }
  for (Request* request : requests) request->delayed = false;
  if (has_deadlines_ && Expires(*requests.front())) NoteDeadline(requests, level);
  Insert(requests, &level);
  return requests.size();
}

void PolicyQueue::Leave(Part* part, const Request* first, const Request* last, size_t count) {
  part->size -= count;
  if (part->first == first) part->first = part->size == 0 ? nullptr : last->next;
  if (part->last == last) part->last = part->size == 0 ? nullptr : first->previous;
}

void PolicyQueue::Remove(Request* request) {
  if (has_deadlines_ && Expires(*request)) ForgetDeadline(request, 1);
  Leave(&PartOf(*request, &LevelOf(*request)), request, request, 1);
  list_.Remove(request);
}

void PolicyQueue::TakeNeighbours(Request* first, size_t count, Request** taken) {
  Request* begin = first;
  for (size_t left = has_deadlines_ ? count : 0; left > 0;) {
    Request* const one = begin;
    size_t alike = 0;  // requests of this header
    for (; left > 0 && begin->header == one->header && begin->delayed == one->delayed; left--) {
      alike++;
      begin = begin->next;
    }
    if (Expires(*one)) ForgetDeadline(one, alike);
  }
  begin = first;
  for (size_t left = count; left > 0;) {
    Part& part = PartOf(*begin, &LevelOf(*begin));
    // Take the whole part, or as much of it as is left to take.
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

void PolicyQueue::ExpireHeader(RequestHeader* header, Expired* expired) {
  Request* request = header->waiting.first;
  Level& level = LevelOf(*request);
  HeapOf(level).Remove(header);
  const bool delays = level.policy->on_timeout == QueuePolicy::OnTimeout::kDelay;
  for (; header->waiting.count > 0; looked_++) {
    // All requests of the header are in time, so they come before any delayed one.
    Request* const next = request->next;
    if (request->header == header) {
      header->waiting.count--;
      Leave(&level.in_time, request, request, 1);
      list_.Remove(request);
      if (delays) {
        request->delayed = true;
        Insert({&request, 1}, &level);
      } else {
        expired->requests.push_back(request);
      }
    }
    request = next;
  }
}

void PolicyQueue::Expire(uint64_t now_ns, Expired* expired) {
  for (DeadlineHeap* const heap : {&rejected_, &delayed_}) {
    while (!heap->empty() && heap->first_ns() <= now_ns) ExpireHeader(heap->first(), expired);
  }
  // Only rejections need a wake-up. Requests that are to be delayed become so at the next call.
  if (!rejected_.empty()) expired->wake_at_ns = rejected_.first_ns();
}

}  // namespace tritonts

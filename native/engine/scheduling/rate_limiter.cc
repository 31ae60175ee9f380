#include "engine/scheduling/rate_limiter.h"

#include <algorithm>
#include <new>

namespace tritonts {

namespace {

// The needs of a claim by name and device. A resource that is written twice is needed as often as
// the larger count says (Triton: the last one).
std::map<std::pair<std::string, int>, uint64_t> NeedsOf(const GateClaim& claim, int global) {
  std::map<std::pair<std::string, int>, uint64_t> needs;
  for (const ResourceNeed& need : claim.resources) {
    uint64_t& count = needs[{need.name, need.global ? global : claim.device}];
    count = std::max(count, need.count);
  }
  return needs;
}

}  // namespace

std::optional<uint64_t> RateLimiter::GivenCount(const std::string& name, int device) const {
  if (given_.empty()) return std::nullopt;
  uint64_t count = 0;
  for (const Given& given : given_) {
    if (given.name != name) continue;
    // All counts of a global resource mean the same.
    if (device == kGlobal || !given.device || *given.device == device) {
      count = std::max(count, given.count);
    }
  }
  return count;
}

std::string RateLimiter::WhyNot(const std::map<Key, uint64_t>& needs) const {
  for (const auto& [key, count] : needs) {
    const auto& [name, device] = key;
    const auto conflicts = [&](const auto& entry) {
      return entry.first.first == name && (entry.first.second == kGlobal) != (device == kGlobal);
    };
    if (std::any_of(pools_.begin(), pools_.end(), conflicts) ||
        std::any_of(needs.begin(), needs.end(), conflicts)) {
      return "Resource \"" + name +
             "\" is present as both global and device-specific resource in the model "
             "configuration.";
    }
    const std::optional<uint64_t> given = GivenCount(name, device);
    if (given && count > *given) {
      return "Resource count for \"" + name + "\" is limited to " + std::to_string(*given) +
             " which will prevent scheduling of one or more model instances, the minimum required "
             "count is " +
             std::to_string(count);
    }
  }
  return "";
}

Status RateLimiter::Register(const std::shared_ptr<GateTicket>& ticket, const GateClaim& claim) {
  const std::map<Key, uint64_t> needs = NeedsOf(claim, kGlobal);
  const std::lock_guard lock(mutex_);
  if (const std::string why = WhyNot(needs); !why.empty()) return Status::InvalidArg(why);
  waiting_.reserve(members_.size() + 1);
  Member member;
  member.priority = std::max(claim.priority, 1u);
  try {
    for (const auto& [key, count] : needs) {
      member.keys.push_back(key);
      member.needs.push_back({&pools_[key], count});
    }
    members_.emplace(ticket.get(), member);
  } catch (const std::bad_alloc&) {
    std::erase_if(pools_, [](const auto& entry) { return entry.second.members == 0; });
    throw;
  }
  for (size_t i = 0; i < member.needs.size(); i++) {
    Pool* const pool = member.needs[i].pool;
    pool->members++;
    const std::optional<uint64_t> given = GivenCount(member.keys[i].first, member.keys[i].second);
    pool->count = given ? *given : std::max(pool->count, member.needs[i].count);
  }
  return Status::Ok();
}

void RateLimiter::Unregister(const std::shared_ptr<GateTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(ticket.get());
  if (found == members_.end()) return;
  LeaveLocked(ticket, &found->second);
  const Member member = std::move(found->second);
  members_.erase(found);
  for (size_t i = 0; i < member.needs.size(); i++) {
    Pool* const pool = member.needs[i].pool;
    if (--pool->members == 0) {
      pools_.erase(member.keys[i]);
    } else {
      Count(pool);
    }
  }
}

void RateLimiter::Count(Pool* pool) {
  if (!given_.empty()) return;
  uint64_t most = 0;
  for (const auto& [ticket, member] : members_) {
    for (const Need& need : member.needs) {
      if (need.pool == pool) most = std::max(most, need.count);
    }
  }
  pool->count = most;
}

bool RateLimiter::Fits(const Member& member) const {
  return std::all_of(member.needs.begin(), member.needs.end(), [this](const Need& need) {
    const Pool& pool = *need.pool;
    // A pool may have fewer units than are in use after a model was unloaded.
    return need.count == 0 || (pool.lacked_at != passes_ && pool.in_use <= pool.count &&
                               need.count <= pool.count - pool.in_use);
  });
}

void RateLimiter::Take(Member* member) {
  for (const Need& need : member->needs) need.pool->in_use += need.count;
  turn_ = std::max(turn_, member->turn);
}

void RateLimiter::Give(Member* member) {
  for (const Need& need : member->needs) need.pool->in_use -= need.count;
  member->turn += member->priority;
}

bool RateLimiter::Enter(const std::shared_ptr<GateTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(ticket.get());
  if (found == members_.end()) return true;
  Member& member = found->second;
  member.turn = std::max(member.turn, turn_);
  member.came = arrivals_++;
  // Nobody takes what those before it wait for.
  passes_++;
  for (const auto& [other, waits] : waiting_) {
    if (!Before(*other, member)) continue;
    for (const Need& need : other->needs) need.pool->lacked_at = passes_;
  }
  if (Fits(member)) {
    Take(&member);
    ticket->state = GateTicket::State::kInside;
    return true;
  }
  ticket->state = GateTicket::State::kWaiting;
  waiting_.emplace_back(&member, ticket);
  return false;
}

void RateLimiter::Leave(const std::shared_ptr<GateTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(ticket.get());
  if (found != members_.end()) LeaveLocked(ticket, &found->second);
}

void RateLimiter::LeaveLocked(const std::shared_ptr<GateTicket>& ticket, Member* member) {
  if (ticket->state == GateTicket::State::kWaiting) {
    std::erase_if(waiting_, [&](const Waiting& one) { return one.second == ticket; });
  }
  if (ticket->state == GateTicket::State::kInside) Give(member);
  ticket->state = GateTicket::State::kOutside;
}

void RateLimiter::Admit(GateTickets* let_in) {
  const std::lock_guard lock(mutex_);
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Waiting& a, const Waiting& b) { return Before(*a.first, *b.first); });
  passes_++;
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (Fits(*one.first)) {
      Take(one.first);
      one.second->state = GateTicket::State::kInside;
      let_in->Append(one.second);
      return true;
    }
    // Nobody behind it takes what it lacks.
    for (const Need& need : one.first->needs) need.pool->lacked_at = passes_;
    return false;
  });
}

std::vector<RateLimiter::Usage> RateLimiter::Resources() const {
  const std::lock_guard lock(mutex_);
  std::vector<Usage> resources;
  for (const auto& [key, pool] : pools_) {
    Usage usage{key.first, {}, pool.count, pool.in_use, 0};
    if (key.second != kGlobal) usage.device = key.second;
    for (const auto& [member, ticket] : waiting_) {
      usage.waiting += static_cast<uint32_t>(
          std::count_if(member->needs.begin(), member->needs.end(),
                        [&](const Need& need) { return need.pool == &pool; }));
    }
    resources.push_back(std::move(usage));
  }
  return resources;
}

}  // namespace tritonts

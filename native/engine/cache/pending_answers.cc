#include "engine/cache/pending_answers.h"

#include <new>
#include <utility>

#include "engine/base/rules.h"

namespace tritonts {

namespace {

constexpr size_t kFewestBuckets = 64;

// Takes a ticket out of a list that is linked by a member.
void Unchain(PendingTicket** bucket, PendingTicket* ticket, PendingTicket* PendingTicket::* next) {
  while (*bucket && *bucket != ticket) bucket = &((*bucket)->*next);
  if (*bucket) *bucket = ticket->*next;
  ticket->*next = nullptr;
}

}  // namespace

PendingAnswers::~PendingAnswers() {
  TRITONTS_ASSERT(empty(), "a response cache was freed with requests that wait for their answer");
  while (free_) delete std::exchange(free_, free_->next);
}

size_t PendingAnswers::Spread(const Request* request) {
  // Requests of a group lie side by side, 40 bytes apart.
  return reinterpret_cast<uintptr_t>(request) * 0x9e3779b97f4a7c15 >> 32;
}

bool PendingAnswers::Reserve() {
  if (by_request_ && size_ <= mask_) return true;
  const size_t count = by_request_ ? (mask_ + 1) * 2 : kFewestBuckets;
  std::unique_ptr<PendingTicket*[]> by_request(new (std::nothrow) PendingTicket*[count]());
  std::unique_ptr<PendingTicket*[]> by_key(new (std::nothrow) PendingTicket*[count]());
  // Longer lists are slower, and right.
  if (!by_request || !by_key) return by_request_ != nullptr;
  const auto move = [&](const auto& from, const auto& to, PendingTicket* PendingTicket::* next,
                        auto place) {
    for (size_t i = 0; from && i <= mask_; i++) {
      for (PendingTicket* ticket = from[i]; ticket;) {
        PendingTicket* const after = ticket->*next;
        ticket->*next = std::exchange(to[place(*ticket) & (count - 1)], ticket);
        ticket = after;
      }
    }
  };
  move(by_request_, by_request, &PendingTicket::next_by_request,
       [](const PendingTicket& ticket) { return Spread(ticket.request); });
  move(by_key_, by_key, &PendingTicket::next_by_key,
       [](const PendingTicket& ticket) { return ticket.entry->hash().low; });
  by_request_ = std::move(by_request);
  by_key_ = std::move(by_key);
  mask_ = count - 1;
  return true;
}

PendingTicket* PendingAnswers::Take() {
  if (!Reserve()) return nullptr;
  if (free_) {
    PendingTicket* const ticket = std::exchange(free_, free_->next);
    ticket->next = nullptr;
    return ticket;
  }
  return new (std::nothrow) PendingTicket();
}

void PendingAnswers::Free(PendingTicket* ticket) {
  *ticket = PendingTicket();
  ticket->next = std::exchange(free_, ticket);
}

void PendingAnswers::AddByRequest(PendingTicket* ticket) {
  PendingTicket** const bucket = &by_request_[Spread(ticket->request) & mask_];
  ticket->next_by_request = std::exchange(*bucket, ticket);
  size_++;
}

void PendingAnswers::RemoveByRequest(PendingTicket* ticket) {
  Unchain(&by_request_[Spread(ticket->request) & mask_], ticket, &PendingTicket::next_by_request);
  size_--;
}

void PendingAnswers::RemoveByKey(PendingTicket* ticket) {
  if (!ticket->may_lead) return;
  Unchain(&by_key_[ticket->entry->hash().low & mask_], ticket, &PendingTicket::next_by_key);
}

PendingTicket* PendingAnswers::Find(const Request* request) {
  if (!by_request_) return nullptr;
  PendingTicket* ticket = by_request_[Spread(request) & mask_];
  while (ticket && ticket->request != request) ticket = ticket->next_by_request;
  return ticket;
}

PendingTicket* PendingAnswers::LeaderOf(const CacheEntry& entry) {
  if (!by_key_) return nullptr;
  for (PendingTicket* ticket = by_key_[entry.hash().low & mask_]; ticket;
       ticket = ticket->next_by_key) {
    if (ticket->entry->IsFor(entry)) return ticket;
  }
  return nullptr;
}

PendingTicket* PendingAnswers::Lead(Request* request, CacheEntryRef entry, bool may_lead) {
  PendingTicket* const ticket = Take();
  if (!ticket) return nullptr;
  ticket->request = request;
  ticket->entry = std::move(entry);
  ticket->may_lead = may_lead;
  ticket->level = request->header->level;
  AddByRequest(ticket);
  if (may_lead) {
    PendingTicket** const bucket = &by_key_[ticket->entry->hash().low & mask_];
    ticket->next_by_key = std::exchange(*bucket, ticket);
  }
  return ticket;
}

PendingTicket* PendingAnswers::Follow(Request* request, PendingTicket* leader) {
  PendingTicket* const ticket = Take();
  if (!ticket) return nullptr;
  ticket->request = request;
  ticket->leader = leader;
  ticket->previous = leader->last;
  (leader->last ? leader->last->next : leader->first) = ticket;
  leader->last = ticket;
  followers_++;
  AddByRequest(ticket);
  return ticket;
}

PendingTicket* PendingAnswers::TakeFollowers() {
  PendingTicket* first = nullptr;
  for (size_t i = 0; followers_ > 0 && i <= mask_; i++) {
    for (PendingTicket* ticket = by_request_[i]; ticket;) {
      PendingTicket* const after = ticket->next_by_request;
      if (ticket->leader) {
        Leave(ticket);
        ticket->next = std::exchange(first, ticket);
      }
      ticket = after;
    }
  }
  return first;
}

void PendingAnswers::Answered(PendingTicket* leader) {
  RemoveByRequest(leader);
}

PendingTicket* PendingAnswers::Unlead(PendingTicket* leader) {
  RemoveByKey(leader);
  PendingTicket* const first = leader->first;
  for (PendingTicket* ticket = first; ticket; ticket = ticket->next) {
    RemoveByRequest(ticket);
    ticket->leader = nullptr;
    followers_--;
  }
  Free(leader);
  return first;
}

PendingTicket* PendingAnswers::Promote(PendingTicket* leader) {
  RemoveByKey(leader);
  PendingTicket* const next = leader->first;
  if (next) {
    followers_--;
    next->entry = std::move(leader->entry);
    next->leader = nullptr;
    next->level = leader->level;
    next->may_lead = true;
    next->first = std::exchange(next->next, nullptr);
    next->last = next->first ? leader->last : nullptr;
    if (next->first) next->first->previous = nullptr;
    for (PendingTicket* ticket = next->first; ticket; ticket = ticket->next) ticket->leader = next;
    PendingTicket** const bucket = &by_key_[next->entry->hash().low & mask_];
    next->next_by_key = std::exchange(*bucket, next);
  }
  Free(leader);
  return next;
}

void PendingAnswers::Leave(PendingTicket* follower) {
  PendingTicket* const leader = follower->leader;
  (follower->previous ? follower->previous->next : leader->first) = follower->next;
  (follower->next ? follower->next->previous : leader->last) = follower->previous;
  follower->next = follower->previous = nullptr;
  follower->leader = nullptr;
  followers_--;
  RemoveByRequest(follower);
}

}  // namespace tritonts

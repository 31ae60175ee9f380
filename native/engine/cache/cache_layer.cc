#include "engine/cache/cache_layer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/small_vector.h"

namespace tritonts {

namespace {

// Hits whose outputs are larger are answered one by one: gathering them would copy them once more.
constexpr size_t kMostGathered = 4096;
// A leader that is passed on may be answered at once, as cancelled. Then the next one leads, within
// the answer of the former. Beyond this depth, all that follow are passed on together.
constexpr int kMostPromotions = 8;

thread_local int promotions = 0;

// The times of requests that did not run. A batch of no rows says that the answer was cached
// (port/port_layout.h).
BatchTimings CachedAt(uint64_t ns) {
  BatchTimings timings;
  timings.exec_start_ns = timings.compute_start_ns = ns;
  timings.compute_end_ns = timings.exec_end_ns = ns;
  return timings;
}

// Outputs that lie in an entry, lent to a sink that takes memory which is not its own. Nobody may
// change them: who retains them copies them, to memory of its own.
class LentEntry final : public Block {
 public:
  explicit LentEntry(CacheEntryRef entry)
      : Block(nullptr, 0, MemoryKind::kShared), entry_(std::move(entry)) {}

 private:
  void Dispose() override { delete this; }

  const CacheEntryRef entry_;
};

// Room for an element for each request of a call. For a single one it allocates nothing.
template <typename T>
class Room {
 public:
  // Throws std::bad_alloc.
  explicit Room(size_t count) {
    if (count > 1) many_.resize(count);
    all_ = count > 1 ? std::span<T>(many_) : std::span<T>(&one_, count);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  std::span<T> all() { return all_; }

 private:
  T one_{};
  std::vector<T> many_;
  std::span<T> all_;
};

// Whether a request may wait for the run of another one (see the head of cache_layer.h).
bool MayFollow(const RequestHeader& header) {
  return header.deadline_ns == 0 && !header.call;
}

}  // namespace

CacheLayer::~CacheLayer() {
  if (!retired_.load(std::memory_order_relaxed)) cache_->Forget(version_);
}

void CacheLayer::Look(std::span<Request* const> requests, uint64_t now_ns,
                      std::span<Looked> looked) {
  const uint64_t scope = LocalCache::ScopeOf(version_, generation_.load(std::memory_order_acquire));
  KeyHead head(scope, cache_->seed());
  const RequestHeader* known = nullptr;
  bool has_key = false;
  for (size_t i = 0; i < requests.size(); i++) {
    Request* const request = requests[i];
    Looked& one = looked[i];
    one.request = request;
    if (request->header != known) {
      known = request->header;
      has_key = KeyHead::Has(*known);
      if (has_key) head.Set(*known);
    }
    if (!has_key) continue;
    // What never fits is not looked up, unless others may share its run.
    if (!coalesce_ && head.SizeOf(*request) > cache_->size()) continue;
    const uint64_t sample = shares_only_ ? 0 : head.SampleOf(*request);
    if (sample != 0) one.entry = cache_->FindCandidate(head, *request, sample, now_ns);
    one.hit = static_cast<bool>(one.entry);
    if (one.hit) continue;
    const KeyHash hash = head.HashOf(*request);
    if (!shares_only_) one.entry = cache_->Find(head, *request, hash, now_ns);
    one.hit = static_cast<bool>(one.entry);
    if (!one.hit)
      one.entry = CacheEntry::Make(&cache_->pool(), scope, hash, sample, head, *request);
  }
}

void CacheLayer::KeepOrder(std::span<Looked> looked) {
  bool waits = inside() > looked.size();
  for (Looked& one : looked) {
    if (one.hit && waits) {
      one.hit = false;
      one.entry = {};
    }
    waits = waits || !one.hit;
  }
}

std::span<Request* const> CacheLayer::Register(std::span<Looked> looked, uint64_t lookup_ns,
                                               std::span<Request*> passed) {
  size_t count = 0;
  std::lock_guard lock(mutex_);
  for (Looked& one : looked) {
    if (one.hit) continue;
    if (!one.entry) {
      passed[count++] = one.request;
      continue;
    }
    const RequestHeader& header = *one.request->header;
    PendingTicket* const leader = coalesce_ ? pending_.LeaderOf(*one.entry) : nullptr;
    if (leader && leader->level == header.level && MayFollow(header) &&
        pending_.Follow(one.request, leader)) {
      continue;
    }
    // If an equal request leads already, this one leads nobody.
    PendingTicket* const ticket = pending_.Lead(one.request, std::move(one.entry),
                                                coalesce_ && !leader && header.deadline_ns == 0);
    if (ticket) ticket->lookup_ns = lookup_ns;
    passed[count++] = one.request;
  }
  return passed.first(count);
}

void CacheLayer::Submit(std::span<Request* const> requests, uint64_t now_ns,
                        InlineTime* inline_time) noexcept {
  const uint64_t start_ns = NowNs();
  try {
    Room<Looked> looked(requests.size());
    Room<Request*> room(requests.size());
    Look(requests, start_ns, looked.all());
    // Nothing throws from here on, as requests are answered.
    const std::span<Request* const> passed = Divide(looked.all(), start_ns, room.all());
    if (!passed.empty()) Pass(passed, now_ns, inline_time);
  } catch (const std::bad_alloc&) {
    Pass(requests, now_ns, inline_time);
  }
}

std::span<Request* const> CacheLayer::Divide(std::span<Looked> looked, uint64_t start_ns,
                                             std::span<Request*> room) noexcept {
  if (in_order_) KeepOrder(looked);
  const uint64_t lookup_ns = TimeBetween(start_ns, NowNs());
  cache_->NoteLookups(lookup_ns);
  const uint64_t each_ns = lookup_ns / looked.size();
  size_t hits = 0;
  for (const Looked& one : looked) hits += one.hit ? 1 : 0;
  std::span<Request* const> passed;
  if (hits < looked.size()) passed = Register(looked, each_ns, room);
  if (hits > 0) AnswerHits(looked, start_ns, each_ns);
  return passed;
}

bool CacheLayer::AnswerAlike(std::span<const Looked> hits, const BatchTimings& timings) {
  const std::span<const OutputTensor> first = hits.front().entry->outputs();
  std::array<Request*, kAnsweredTogether> requests;
  SmallVector<OutputTensor, 4> outputs;
  std::unique_ptr<char[]> bytes(
      new (std::nothrow) char[hits.front().entry->output_bytes() * hits.size() + 1]);
  if (!bytes) return false;
  try {
    outputs.assign(first.begin(), first.end());
  } catch (const std::bad_alloc&) {
    return false;
  }
  char* next = bytes.get();
  for (size_t k = 0; k < first.size(); k++) {
    outputs[k].data = next;
    for (const Looked& hit : hits) {
      const OutputTensor& output = hit.entry->outputs()[k];
      if (output.size > 0) std::memcpy(next, output.data, output.size);
      next += output.size;
    }
  }
  for (size_t i = 0; i < hits.size(); i++) requests[i] = hits[i].request;
  Layer::AnswerAlike(
      {std::span(requests).first(hits.size()), {outputs.data(), outputs.size()}, &timings});
  return true;
}

void CacheLayer::AnswerLarge(Request* request, const CacheEntryRef& entry,
                             const BatchTimings& timings) {
  Response response;
  response.request = request;
  response.timings = &timings;
  SmallVector<OutputTensor, 4> outputs;
  SmallVector<BlockRef, 4> blocks;
  BlockRef lent;
  try {
    outputs.assign(entry->outputs().begin(), entry->outputs().end());
    for (OutputTensor& output : outputs) {
      if (output.size < kLargeOutput) continue;
      if (request->header->sink->Takes(*request, output.index, MemoryKind::kShared, 0)) {
        if (!lent) lent = BlockRef::Adopt(new LentEntry(entry));
        output.kind = MemoryKind::kShared;
        output.block = lent.get();
        continue;
      }
      BlockRef block = cache_->pool().Acquire(output.size);
      if (!block) continue;  // the receiver copies it
      std::memcpy(block->data(), output.data, output.size);
      output.data = block->data();
      output.block = block.get();
      blocks.push_back(std::move(block));
    }
    response.outputs = {outputs.data(), outputs.size()};
  } catch (const std::bad_alloc&) {
    response.outputs = entry->outputs();
  }
  Answer({&response, 1});
}

void CacheLayer::AnswerHits(std::span<const Looked> looked, uint64_t found_ns, uint64_t lookup_ns) {
  const BatchTimings timings = CachedAt(found_ns);
  uint64_t hits = 0;
  uint64_t request_ns = 0;
  uint64_t queue_ns = 0;
  for (const Looked& one : looked) {
    if (!one.hit) continue;
    hits++;
    const uint64_t queue = TimeBetween(one.request->header->arrival_ns, found_ns);
    queue_ns += queue;
    request_ns += queue + lookup_ns;
  }
  // This precedes the responses, so that the statistics count a request before its caller has it.
  CountHits(hits, lookup_ns * hits, request_ns, queue_ns);
  for (size_t i = 0; i < looked.size();) {
    const Looked& first = looked[i];
    if (!first.hit) {
      i++;
      continue;
    }
    // Until the last of its requests is answered, the header stays.
    const RequestHeader* const header = first.request->header;
    if (first.entry->output_bytes() >= kLargeOutput) {
      AnswerLarge(first.request, first.entry, timings);
      i++;
      continue;
    }
    const bool small = !first.entry->outputs().empty() && first.entry->outputs()[0].batch >= 0 &&
                       first.entry->output_bytes() <= kMostGathered;
    size_t count = 1;
    while (count < kAnsweredTogether && i + count < looked.size() && looked[i + count].hit &&
           looked[i + count].request->header == header &&
           (small ? looked[i + count].entry->IsLike(*first.entry)
                  : looked[i + count].entry->output_bytes() < kLargeOutput)) {
      count++;
    }
    const std::span<const Looked> some = looked.subspan(i, count);
    i += count;
    if (count == 1) {
      // Responses for many take longer to make than this one to deliver.
      Response response;
      SetHit(first, timings, &response);
      Answer({&response, 1});
      continue;
    }
    if (small && AnswerAlike(some, timings)) continue;
    std::array<Response, kAnsweredTogether> responses;
    for (size_t k = 0; k < count; k++) SetHit(some[k], timings, &responses[k]);
    Answer(std::span(responses).first(count));
  }
}

void CacheLayer::SetHit(const Looked& hit, const BatchTimings& timings, Response* response) {
  response->request = hit.request;
  response->outputs = hit.entry->outputs();
  response->timings = &timings;
}

void CacheLayer::See(std::span<const Response> responses) noexcept {
  while (!responses.empty()) {
    std::array<Led, kAnsweredTogether> led;
    size_t count = 0;
    const auto some = responses.first(std::min(kAnsweredTogether, responses.size()));
    responses = responses.subspan(some.size());
    {
      std::lock_guard lock(mutex_);
      if (pending_.empty()) return;
      for (const Response& response : some) {
        if (!response.final) continue;
        PendingTicket* const ticket = pending_.Find(response.request);
        if (!ticket) continue;
        pending_.Answered(ticket);
        led[count++] = {ticket, &response};
      }
    }
    for (const Led& one : std::span(led).first(count)) Settle(one);
  }
}

bool CacheLayer::IsInVain(const PendingTicket& ticket, const Response& response) {
  size_t bytes = ticket.entry->cost();
  for (const OutputTensor& output : response.outputs) bytes += output.size;
  if (bytes <= cache_->size()) return false;
  std::lock_guard lock(mutex_);
  return !ticket.first;
}

void CacheLayer::Settle(const Led& led) {
  const Response& response = *led.response;
  PendingTicket* const ticket = led.ticket;
  // Only this thread changes the ticket's entry now. Others compare its key.
  const CacheEntryRef entry = ticket->entry;
  bool filled = false;
  if (response.status.ok()) {
    const uint64_t start_ns = NowNs();
    filled = CanBeStored(response) && !IsInVain(*ticket, response) && entry->Fill(response.outputs);
    // What only shares runs has no misses: it looks into no cache.
    auto inserted = shares_only_ ? LocalCache::Inserted::kExists : LocalCache::Inserted::kTooLarge;
    if (filled && !shares_only_) inserted = cache_->Insert(entry, start_ns);
    const uint64_t insert_ns = TimeBetween(start_ns, NowNs());
    cache_->NoteInsertions(insert_ns);
    if (inserted != LocalCache::Inserted::kExists) {
      CountMiss(ticket->lookup_ns, insert_ns);
    }
  }
  // A model may answer CANCELLED by itself, and would do so for the followers.
  const bool gone = response.status.code() == Code::kCancelled &&
                    response.request->cancelled.load(std::memory_order_relaxed);
  PendingTicket* followers = nullptr;
  PendingTicket* promoted = nullptr;
  Request* next = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (gone && promotions < kMostPromotions) {
      promoted = pending_.Promote(ticket);
      if (promoted) next = promoted->request;
    } else {
      followers = pending_.Unlead(ticket);
    }
  }
  if (next) {
    promotions++;
    Request* const one[] = {next};
    Pass(one, NowNs());
    promotions--;
  }
  if (!followers) return;
  const Code code = response.status.code();
  const bool alike = response.status.ok() ? filled : !gone && code != Code::kUnavailable;
  if (alike) {
    AnswerFollowers(followers, entry, response);
  } else {
    PassFollowers(followers);
  }
}

void CacheLayer::AnswerFollowers(PendingTicket* first, const CacheEntryRef& entry,
                                 const Response& like) {
  const uint64_t now_ns = NowNs();
  const BatchTimings timings = CachedAt(now_ns);
  while (first) {
    std::array<Response, kAnsweredTogether> responses;
    size_t count = 0;
    uint64_t queue_ns = 0;
    PendingTicket* const begin = first;
    for (; first && count < kAnsweredTogether; first = first->next) {
      Response& response = responses[count++];
      response.request = first->request;
      response.status = like.status;
      response.timings = &timings;
      if (like.status.ok()) response.outputs = entry->outputs();
      queue_ns += TimeBetween(first->request->header->arrival_ns, now_ns);
    }
    if (like.status.ok()) {
      CountHits(count, 0, queue_ns, queue_ns);
    } else {
      CountFailed(count, queue_ns, like.status);
    }
    for (PendingTicket* ticket = begin; ticket != first;) {
      PendingTicket* const next = ticket->next;
      Free(ticket);
      ticket = next;
    }
    Answer(std::span(responses).first(count));
  }
}

void CacheLayer::PassFollowers(PendingTicket* first) {
  while (first) {
    std::array<Request*, kAnsweredTogether> requests;
    size_t count = 0;
    while (first && count < kAnsweredTogether) {
      PendingTicket* const next = first->next;
      requests[count++] = first->request;
      Free(first);
      first = next;
    }
    Pass(std::span(requests).first(count), NowNs());
  }
}

void CacheLayer::Free(PendingTicket* ticket) {
  std::lock_guard lock(mutex_);
  pending_.Free(ticket);
}

bool CacheLayer::Leave(Request* request) {
  std::lock_guard lock(mutex_);
  PendingTicket* const ticket = pending_.Find(request);
  if (!ticket || !ticket->leader) return false;
  pending_.Leave(ticket);
  pending_.Free(ticket);
  return true;
}

void CacheLayer::Cancel(std::span<Request* const> requests) noexcept {
  bool any = false;
  {
    std::lock_guard lock(mutex_);
    any = pending_.followers() > 0;
  }
  if (!any) return PassCancel(requests);
  std::vector<Request*> mine;
  std::vector<Request*> others;
  try {
    mine.reserve(requests.size());
    others.reserve(requests.size());
  } catch (const std::bad_alloc&) {
    for (Request* const& request : requests) {
      if (Leave(request)) {
        Fail({&request, 1}, cancelled_);
      } else {
        PassCancel({&request, 1});
      }
    }
    return;
  }
  for (Request* request : requests) (Leave(request) ? mine : others).push_back(request);
  // The followers first: they must not lead when their leader ends.
  Fail(mine, cancelled_);
  PassCancel(others);
}

void CacheLayer::Abort(const Status& status) noexcept {
  PendingTicket* first = nullptr;
  {
    std::lock_guard lock(mutex_);
    first = pending_.TakeFollowers();
  }
  while (first) {
    std::array<Request*, kAnsweredTogether> requests;
    size_t count = 0;
    {
      std::lock_guard lock(mutex_);
      while (first && count < kAnsweredTogether) {
        requests[count++] = first->request;
        pending_.Free(std::exchange(first, first->next));
      }
    }
    Fail(std::span(requests).first(count), status);
  }
}

void CacheLayer::Retire() noexcept {
  retired_.store(true, std::memory_order_relaxed);
  cache_->Forget(version_);
}

}  // namespace tritonts

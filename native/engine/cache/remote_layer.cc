#include "engine/cache/remote_layer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"

namespace tritonts {

namespace {

// Held requests that are taken together.
constexpr size_t kTaken = 1024;
// The timer calls no more often, because a call looks at all that are held.
constexpr uint64_t kLeastWaitNs = 5'000'000;

// The text under which the cache stores an answer. Throws std::bad_alloc.
std::string KeyOf(const std::string& identity, const KeyHash& hash) {
  std::array<char, 34> text;
  std::snprintf(text.data(), text.size(), "/%016llx%016llx",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return identity + text.data();
}

}  // namespace

RemoteLayer::RemoteLayer(std::shared_ptr<RemoteCache> cache, Timer* timer, ModelIo io,
                         const std::string& model)
    : cache_(std::move(cache)),
      timer_(timer),
      io_(std::move(io)),
      cancelled_(Status::Cancelled("model '" + model + "': the request was cancelled")) {
  number_ = cache_->Join(this);
}

RemoteLayer::~RemoteLayer() {
  cache_->Leave(number_);
  timer_->Remove(this);
  TRITONTS_ASSERT(held_.empty(), "a response cache was freed with requests that it looks up");
  TRITONTS_ASSERT(running_.empty(), "a response cache was freed with answers that it waits for");
}

RemoteLayer::Identity RemoteLayer::identity() {
  std::lock_guard lock(mutex_);
  return identity_;
}

void RemoteLayer::Identify(const std::string& identity) {
  Identity made = identity.empty() ? nullptr : std::make_shared<const std::string>(identity);
  std::lock_guard lock(mutex_);
  identity_.swap(made);
}

void RemoteLayer::Renew() noexcept {
  Identity before;
  std::lock_guard lock(mutex_);
  identity_.swap(before);
}

bool RemoteLayer::Hold(Request* request, const KeyHash& hash, const Identity& identity,
                       uint64_t now_ns, std::vector<RemoteCache::Lookup>* lookups) {
  Held held;
  held.hash = hash;
  held.identity = identity;
  held.start_ns = now_ns;
  held.until_ns = now_ns + cache_->options().timeout_ns;
  const uint64_t deadline_ns = request->header->deadline_ns;
  if (deadline_ns != 0) held.until_ns = std::min(held.until_ns, deadline_ns);
  try {
    RemoteCache::Lookup& lookup = lookups->emplace_back();
    lookup.asker = number_;
    lookup.request = request;
    lookup.key = KeyOf(*identity, hash);
    std::lock_guard lock(mutex_);
    lookup.id = held.id = last_id_ + 1;
    held_.emplace(request, std::pair(request, std::move(held)));
    last_id_++;
  } catch (const std::bad_alloc&) {
    if (!lookups->empty() && lookups->back().request == request) lookups->pop_back();
    return false;
  }
  return true;
}

void RemoteLayer::Submit(std::span<Request* const> requests, uint64_t now_ns,
                         InlineTime* inline_time) noexcept {
  const Identity identity = cache_->open() ? this->identity() : nullptr;
  if (!identity) return Pass(requests, now_ns, inline_time);
  std::vector<RemoteCache::Lookup> lookups;
  std::vector<std::pair<Request*, uint64_t>> asked;  // with the ids
  std::vector<Request*> passed;
  const uint64_t start_ns = NowNs();
  uint64_t until_ns = UINT64_MAX;
  try {
    lookups.reserve(requests.size());
    asked.reserve(requests.size());
    passed.reserve(requests.size());
  } catch (const std::bad_alloc&) {
    return Pass(requests, now_ns, inline_time);
  }
  KeyHead head(0, kStoredSeed);
  const RequestHeader* known = nullptr;
  bool has_key = false;
  for (Request* request : requests) {
    if (request->header != known) {
      known = request->header;
      has_key = KeyHead::Has(*known);
      try {
        if (has_key) head.Set(*known);
      } catch (const std::bad_alloc&) {
        has_key = false;
      }
    }
    const uint64_t deadline_ns = known->deadline_ns;
    // What is too large is never stored.
    if (has_key &&
        StoredAnswer::SizeOfKey(*identity, head, *request) <= cache_->options().most_bytes &&
        Hold(request, head.HashOf(*request), identity, start_ns, &lookups)) {
      // From here on another thread may end it.
      asked.emplace_back(request, lookups.back().id);
      until_ns = std::min(until_ns, start_ns + cache_->options().timeout_ns);
      if (deadline_ns != 0) until_ns = std::min(until_ns, deadline_ns);
    } else {
      passed.push_back(request);
    }
  }
  if (!lookups.empty()) {
    {
      std::lock_guard lock(mutex_);
      if (until_ns < next_ns_) {
        next_ns_ = until_ns;
        timer_->Schedule(this, until_ns);
      }
    }
    if (!cache_->Ask(std::move(lookups))) {
      Held held;
      for (const auto& [request, id] : asked) {
        if (Take(request, id, &held)) passed.push_back(request);
      }
    }
  }
  if (!passed.empty()) Pass(passed, now_ns, inline_time);
}

bool RemoteLayer::Take(const Request* request, uint64_t id, Held* held) {
  std::lock_guard lock(mutex_);
  const auto found = held_.find(request);
  if (found == held_.end() || (id != 0 && found->second.second.id != id)) return false;
  *held = std::move(found->second.second);
  held_.erase(found);
  return true;
}

void RemoteLayer::See(std::span<const Response> responses) noexcept {
  if (running_count_.load(std::memory_order_relaxed) == 0) return;
  for (const Response& response : responses) {
    if (!response.final) continue;
    Running running;
    {
      std::lock_guard lock(mutex_);
      const auto found = running_.find(response.request);
      if (found == running_.end()) continue;
      running = std::move(found->second);
      running_.erase(found);
      running_count_.store(running_.size(), std::memory_order_relaxed);
      // Other versions of its steps may have made this answer.
      if (running.identity != identity_) continue;
    }
    if (!response.status.ok()) continue;
    const uint64_t start_ns = NowNs();
    if (CanBeStored(response) &&
        StoredAnswer::Finish(io_, running.rows, response.outputs, cache_->options().most_bytes,
                             &running.stored)) {
      try {
        cache_->Offer({KeyOf(*running.identity, running.hash), std::move(running.stored)});
      } catch (const std::bad_alloc&) {
        // It is not stored.
      }
    }
    const uint64_t insert_ns = TimeBetween(start_ns, NowNs());
    CountMiss(running.lookup_ns, insert_ns);
  }
}

size_t RemoteLayer::TakeHeld(uint64_t until_ns, std::span<Request*> taken) {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  uint64_t next_ns = UINT64_MAX;
  for (auto at = held_.begin(); at != held_.end() && count < taken.size();) {
    const Held& held = at->second.second;
    if (held.until_ns > until_ns) {
      next_ns = std::min(next_ns, held.until_ns);
      ++at;
      continue;
    }
    taken[count++] = at->second.first;
    at = held_.erase(at);
  }
  // With all of them seen, the timer's next call is known. Nobody may schedule another one between.
  if (count < taken.size()) {
    next_ns_ = next_ns;
    if (next_ns != UINT64_MAX) {
      next_ns_ = std::max(next_ns, NowNs() + kLeastWaitNs);
      timer_->Schedule(this, next_ns_);
    }
  }
  return count;
}

void RemoteLayer::OnTimer(uint64_t now_ns) {
  std::array<Request*, kTaken> late;
  size_t count = 0;
  do {
    count = TakeHeld(now_ns, late);
    if (count > 0) cache_->Note({.failed = count});
    if (count > 0) Pass(std::span(late).first(count), now_ns);
  } while (count == late.size());
}

void RemoteLayer::Cancel(std::span<Request* const> requests) noexcept {
  for (size_t at = 0; at < requests.size();) {
    std::array<Request*, kAnsweredTogether> mine;
    std::array<Request*, kAnsweredTogether> others;
    size_t held = 0;
    size_t passed = 0;
    for (size_t i = 0; i < kAnsweredTogether && at < requests.size(); i++, at++) {
      Held known;
      (Take(requests[at], 0, &known) ? mine[held++] : others[passed++]) = requests[at];
    }
    // Layers around this one tell a caller's wish from a model's answer.
    for (size_t i = 0; i < held; i++) mine[i]->cancelled.store(true, std::memory_order_relaxed);
    if (held > 0) Fail(std::span(mine).first(held), cancelled_);
    if (passed > 0) PassCancel(std::span(others).first(passed));
  }
}

void RemoteLayer::Abort(const Status& status) noexcept {
  std::array<Request*, kTaken> held;
  size_t count = 0;
  do {
    count = TakeHeld(UINT64_MAX, held);
    if (count > 0) Fail(std::span(held).first(count), status);
  } while (count == held.size());
}

}  // namespace tritonts

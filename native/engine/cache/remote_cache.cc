#include "engine/cache/remote_cache.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"

namespace tritonts {

uint32_t RemoteCache::Join(Asker* asker) {
  std::lock_guard lock(mutex_);
  askers_.emplace(last_asker_ + 1, Joined{asker, 0});
  return ++last_asker_;
}

void RemoteCache::Leave(uint32_t number) {
  std::unique_lock lock(mutex_);
  const auto found = askers_.find(number);
  if (found == askers_.end()) return;
  found->second.asker = nullptr;
  left_.wait(lock, [&] { return found->second.calls == 0; });
  askers_.erase(found);
}

void RemoteCache::Wake(std::unique_lock<std::mutex>* lock) {
  if (woken_ || !wake_) return lock->unlock();
  woken_ = true;
  waking_.fetch_add(1);
  lock->unlock();
  // Detach, which ends it, waits for this call.
  wake_();
  waking_.fetch_sub(1);
}

bool RemoteCache::Ask(std::vector<Lookup> lookups) noexcept {
  std::unique_lock lock(mutex_);
  if (!open()) return false;
  const uint64_t now_ns = NowNs();
  if (asked_.empty()) {
    asked_since_ns_ = now_ns;
    asked_ = std::move(lookups);
  } else if (asked_.size() + lookups.size() > kMostAsked ||
             now_ns - asked_since_ns_ > options_.timeout_ns) {
    // The owner's event loop does not keep up.
    return false;
  } else {
    try {
      asked_.reserve(asked_.size() + lookups.size() > asked_.capacity()
                         ? 2 * (asked_.size() + lookups.size())
                         : asked_.capacity());
    } catch (const std::exception&) {
      return false;
    }
    std::move(lookups.begin(), lookups.end(), std::back_inserter(asked_));
  }
  Wake(&lock);
  return true;
}

void RemoteCache::Offer(Entry entry) noexcept {
  const uint64_t bytes = entry.key.size() + entry.value.size();
  std::unique_lock lock(mutex_);
  if (open() && entry_bytes_ + bytes <= options_.most_queued) {
    try {
      entries_.push_back(std::move(entry));
      entry_bytes_ += bytes;
      return Wake(&lock);
    } catch (const std::bad_alloc&) {
      // It is dropped.
    }
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

void RemoteCache::Attach(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  woken_ = false;
  mode_.store(Mode::kOpen, std::memory_order_relaxed);
}

void RemoteCache::Detach() {
  std::map<uint32_t, std::vector<Lookup>> batches;
  uint32_t waiting = 0;
  {
    std::lock_guard lock(mutex_);
    mode_.store(Mode::kClosed, std::memory_order_relaxed);
    woken_ = true;  // nobody begins to wake
    entries_.clear();
    entry_bytes_ = 0;
    waiting = asked_.empty() ? 0 : ++last_batch_;
    // Without memory these wait until their time is over.
    try {
      if (waiting != 0) batches_.emplace(waiting, std::move(asked_));
    } catch (const std::bad_alloc&) {
    }
    asked_.clear();
  }
  while (waking_.load() != 0) std::this_thread::yield();
  for (;;) {
    uint32_t number = 0;
    {
      std::lock_guard lock(mutex_);
      if (batches_.empty()) break;
      number = batches_.begin()->first;
    }
    Answer(number, {});
  }
  // What it refers to may refer to this cache.
  std::function<void()> wake;
  std::lock_guard lock(mutex_);
  wake.swap(wake_);
}

std::span<const RemoteCache::Lookup> RemoteCache::TakeLookups(uint32_t* number, size_t most) {
  std::unique_lock lock(mutex_);
  woken_ = false;
  if (asked_.empty()) return {};
  std::vector<Lookup> taken;
  const auto end = asked_.begin() + static_cast<ptrdiff_t>(std::min(asked_.size(), most));
  if (end != asked_.end()) taken.reserve(most);
  const auto [place, added] = batches_.emplace(last_batch_ + 1, std::vector<Lookup>());
  *number = ++last_batch_;
  if (end == asked_.end()) {
    taken.swap(asked_);
  } else {
    taken.assign(std::make_move_iterator(asked_.begin()), std::make_move_iterator(end));
    asked_.erase(asked_.begin(), end);
    asked_since_ns_ = NowNs();
  }
  place->second = std::move(taken);
  if (mode_.load(std::memory_order_relaxed) == Mode::kProbe) {
    mode_.store(Mode::kPaused, std::memory_order_relaxed);
  }
  const std::span<const Lookup> batch = place->second;
  if (!asked_.empty()) Wake(&lock);
  return batch;
}

size_t RemoteCache::LookupsWaiting() {
  std::lock_guard lock(mutex_);
  return asked_.size();
}

std::vector<RemoteCache::Entry> RemoteCache::TakeEntries() {
  std::lock_guard lock(mutex_);
  entry_bytes_ = 0;
  return std::exchange(entries_, {});
}

bool RemoteCache::HasEntries() {
  std::lock_guard lock(mutex_);
  return !entries_.empty();
}

void RemoteCache::Answer(uint32_t number, std::span<const std::span<const char>> values) {
  std::map<uint32_t, std::vector<Lookup>>::node_type batch;
  {
    std::lock_guard lock(mutex_);
    batch = batches_.extract(number);
  }
  if (batch.empty()) return;
  // Not the number that was asked for: the look-up has failed.
  if (values.size() != batch.mapped().size()) values = {};
  std::span<const Lookup> rest = batch.mapped();
  while (!rest.empty()) {
    size_t count = 1;
    while (count < rest.size() && rest[count].asker == rest.front().asker) count++;
    const uint32_t asker = rest.front().asker;
    Asker* receiver = nullptr;
    {
      std::lock_guard lock(mutex_);
      const auto found = askers_.find(asker);
      if (found != askers_.end() && found->second.asker) {
        receiver = found->second.asker;
        found->second.calls++;
      }
    }
    if (receiver) {
      receiver->Found(rest.first(count), values.first(values.empty() ? 0 : count));
      std::lock_guard lock(mutex_);
      askers_.find(asker)->second.calls--;
      left_.notify_all();
    }
    rest = rest.subspan(count);
    if (!values.empty()) values = values.subspan(count);
  }
}

void RemoteCache::SetMode(Mode mode) {
  std::lock_guard lock(mutex_);
  if (mode_.load(std::memory_order_relaxed) == Mode::kClosed) return;
  mode_.store(mode, std::memory_order_relaxed);
}

RemoteCache::Counts RemoteCache::counts() const noexcept {
  const auto value = [](const std::atomic<uint64_t>& from) {
    return from.load(std::memory_order_relaxed);
  };
  return {value(hits_),   value(misses_),  value(unusable_),
          value(failed_), value(dropped_), value(lookup_ns_)};
}

void RemoteCache::Note(const Counts& counts) noexcept {
  hits_.fetch_add(counts.hits, std::memory_order_relaxed);
  misses_.fetch_add(counts.misses, std::memory_order_relaxed);
  unusable_.fetch_add(counts.unusable, std::memory_order_relaxed);
  failed_.fetch_add(counts.failed, std::memory_order_relaxed);
  lookup_ns_.fetch_add(counts.lookup_ns, std::memory_order_relaxed);
}

}  // namespace tritonts

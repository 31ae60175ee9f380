#include "plugins/cache_owner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"

namespace tritonts::plugins {

namespace {

constexpr uint64_t kCacheMs = 1'000'000;
// After a look-up that took too long, how long the engine asks nothing: at first, and at most.
constexpr uint64_t kFirstRestNs = 1000 * kCacheMs;
constexpr uint64_t kLongestRestNs = 30'000 * kCacheMs;
// Faults that come and go are noted no more often.
constexpr uint64_t kToldEveryNs = 10'000 * kCacheMs;
// What look-ups that wait have to take together before several finders share them.
constexpr uint64_t kSharedFromNs = kCacheMs / 5;
// How long a close stores what is left.
constexpr uint64_t kStoreLeftNs = 1000 * kCacheMs;
// What nobody takes is dropped beyond so many.
constexpr size_t kMostNotes = 16;

void WaitForChange(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                   uint64_t at_ns) {
  if (at_ns == UINT64_MAX) return changed->wait(*lock);
  const uint64_t now_ns = NowNs();
  if (at_ns > now_ns) changed->wait_for(*lock, std::chrono::nanoseconds(at_ns - now_ns));
}

}  // namespace

CacheOwner::CacheOwner(Options options, std::function<void()> changed)
    : options_(std::move(options)), changed_(std::move(changed)), rest_ns_(kFirstRestNs) {}

// The threads share the owner, so none is left but the one that may be here.
CacheOwner::~CacheOwner() {
  if (keeper_.thread.joinable()) keeper_.thread.Detach();
}

std::shared_ptr<CacheOwner> CacheOwner::Create(Options options, std::function<void()> changed) {
  std::shared_ptr<CacheOwner> owner(new CacheOwner(std::move(options), std::move(changed)));
  CacheOwner* const known = owner.get();
  if (!known->keeper_.thread.Start([owner] { owner->Keep(); })) return nullptr;
  return owner;
}

CacheOwner::State CacheOwner::TakeState() {
  std::lock_guard lock(mutex_);
  State state = state_;
  state_.notes.clear();
  return state;
}

void CacheOwner::Silence() {
  std::lock_guard lock(mutex_);
  changed_ = nullptr;
}

void CacheOwner::Changed() {
  if (changed_) changed_();
}

void CacheOwner::Note(std::initializer_list<std::string_view> parts) noexcept {
  try {
    if (state_.notes.size() < kMostNotes) {
      std::string& text = state_.notes.emplace_back();
      for (const std::string_view part : parts) text += part;
    }
  } catch (const std::bad_alloc&) {
    // The log lacks it.
  }
  Changed();
}

void CacheOwner::NoteFault(std::string_view text, uint64_t now_ns) noexcept {
  const bool was_up = std::exchange(state_.up, false);
  if (!was_up || stop_) return;
  fault_told_ = told_ns_ == 0 || now_ns - told_ns_ >= kToldEveryNs;
  if (!fault_told_) return;
  told_ns_ = now_ns;
  Note({": ", text, "; requests run without it until it answers again"});
}

void CacheOwner::NoteSuccess() {
  rest_ns_ = kFirstRestNs;
  if (state_.up && !resting_) return;
  resting_ = false;
  cache_->SetMode(RemoteCache::Mode::kOpen);
  if (std::exchange(state_.up, true) || !std::exchange(fault_told_, false)) return;
  Note({" answers again"});
}

void CacheOwner::Rest(uint64_t now_ns) {
  if (!resting_) {
    resting_ = true;
    rest_until_ns_ = now_ns + rest_ns_;
    rest_ns_ = std::min(2 * rest_ns_, kLongestRestNs);
    cache_->SetMode(RemoteCache::Mode::kPaused);
    if (rest_until_ns_ < watch_ns_) {
      watch_ns_ = rest_until_ns_;
      keep_.notify_all();
    }
  }
  std::array<char, 64> text;
  const int size =
      std::snprintf(text.data(), text.size(), "a look-up took longer than %llu ms",
                    static_cast<unsigned long long>(cache_->options().timeout_ns / kCacheMs));
  NoteFault({text.data(), static_cast<size_t>(size)}, now_ns);
}

void CacheOwner::Begin(Worker* self, uint64_t now_ns) {
  self->since_ns = now_ns;
}

void CacheOwner::BeginLookup(Worker* self, uint64_t now_ns) {
  Begin(self, now_ns);
  const uint64_t until_ns = now_ns + cache_->options().timeout_ns;
  if (until_ns >= watch_ns_) return;
  watch_ns_ = until_ns;
  keep_.notify_all();
}

void CacheOwner::End(Worker* self) {
  self->since_ns = 0;
  self->is_late = false;
  if (std::exchange(self->abandoned, false)) CountAbandonedCalls(-1);
}

bool CacheOwner::Attach(const std::shared_ptr<RemoteCache>& cache) {
  const std::shared_ptr<CacheOwner> self = shared_from_this();
  bool started = true;
  {
    // The threads wait for the lock before they do anything.
    std::lock_guard lock(mutex_);
    if (stop_) return false;
    cache_ = cache;
    for (Worker& finder : finders_) {
      started = started && finder.thread.Start([self, worker = &finder] { self->Find(worker); });
    }
    started = started && storer_.thread.Start([self] { self->Store(&self->storer_); });
    attached_ = true;
    keep_.notify_all();
  }
  if (!started) {
    Close();
    return false;
  }
  cache->Attach([self] {
    std::lock_guard lock(self->mutex_);
    self->asked_ = true;
    self->find_.notify_one();
  });
  return true;
}

void CacheOwner::Close() {
  std::lock_guard lock(mutex_);
  if (stop_) return;
  stop_ = true;
  stop_ns_ = NowNs();
  keep_.notify_all();
  find_.notify_all();
  store_.notify_all();
}

void CacheOwner::Abandon() {
  {
    std::lock_guard taking(taking_);
    if (cache_ && !std::exchange(detached_, true)) cache_->Detach();
  }
  std::lock_guard lock(mutex_);
  const auto leave = [](Worker* worker) {
    if (worker->since_ns == 0 || std::exchange(worker->abandoned, true)) return;
    CountAbandonedCalls(1);
  };
  leave(&keeper_);
  leave(&storer_);
  for (Worker& finder : finders_) leave(&finder);
}

void CacheOwner::Keep() {
  platform::NameThread("cache keeper");
  {
    std::lock_guard lock(mutex_);
    Begin(&keeper_, NowNs());
  }
  Status fault;
  try {
    auto opened = CachePlugin::Open(options_.path, options_.own_library, options_.config);
    if (opened.ok()) {
      plugin_ = opened.take();
    } else {
      fault = opened.status();
    }
  } catch (const std::bad_alloc&) {
    fault = Status::NoMemory();
  }
  std::unique_lock lock(mutex_);
  End(&keeper_);
  state_.opened = true;
  state_.fault = std::move(fault);
  if (!plugin_) stop_ = true;
  Changed();
  while (!stop_) {
    if (attached_) Watch();
    WaitForChange(&keep_, &lock, watch_ns_);
  }
  lock.unlock();
  // Those that were not started are not waited for.
  for (Worker& finder : finders_) {
    if (finder.thread.joinable()) finder.thread.Join();
  }
  if (storer_.thread.joinable()) storer_.thread.Join();
  {
    std::lock_guard taking(taking_);
    if (cache_ && !std::exchange(detached_, true)) cache_->Detach();
  }
  lock.lock();
  Begin(&keeper_, NowNs());
  lock.unlock();
  plugin_.reset();
  lock.lock();
  End(&keeper_);
  state_.ended = true;
  Changed();
}

void CacheOwner::Watch() {
  const uint64_t now_ns = NowNs();
  const uint64_t limit_ns = cache_->options().timeout_ns;
  watch_ns_ = UINT64_MAX;
  bool is_free = false;
  for (Worker& finder : finders_) {
    if (finder.since_ns == 0) {
      is_free = true;
    } else if (now_ns - finder.since_ns < limit_ns) {
      watch_ns_ = std::min(watch_ns_, finder.since_ns + limit_ns);
    } else if (!std::exchange(finder.is_late, true)) {
      Rest(now_ns);
    }
  }
  if (!resting_) return;
  if (now_ns >= rest_until_ns_) {
    if (is_free) {
      resting_ = false;
      cache_->SetMode(RemoteCache::Mode::kProbe);
      return;
    }
    rest_until_ns_ = now_ns + rest_ns_;
  }
  watch_ns_ = std::min(watch_ns_, rest_until_ns_);
}

void CacheOwner::Find(Worker* self) {
  platform::NameThread("cache finder");
  std::unique_lock lock(mutex_);
  for (;;) {
    find_.wait(lock, [this] { return asked_ || stop_; });
    if (stop_) return;
    asked_ = false;
    lock.unlock();
    const bool had_memory = FindBatch(self);
    lock.lock();
    End(self);
    self->has_batch = false;
    if (!had_memory) NoteFault("there is no memory for a look-up", NowNs());
  }
}

size_t CacheOwner::Share(Worker* self) {
  const size_t waiting = cache_->LookupsWaiting();
  std::lock_guard lock(mutex_);
  self->has_batch = true;
  // To wake others takes longer than quick look-ups do.
  if (usual_ns_ * std::min(waiting, kTogether) < kSharedFromNs) return kTogether;
  const auto idle =
      std::count_if(finders_.begin(), finders_.end(), [](auto& one) { return !one.has_batch; });
  const size_t shares = static_cast<size_t>(idle) + 1;
  // A batch is answered when its last look-up has ended, so it may not take all of the limit.
  const size_t in_time = cache_->options().timeout_ns / 2 / usual_ns_;
  return std::clamp<size_t>((waiting + shares - 1) / shares, 1,
                            std::clamp<size_t>(in_time, 1, kTogether));
}

bool CacheOwner::FindBatch(Worker* self) {
  uint32_t number = 0;
  bool taken = false;
  try {
    const size_t most = Share(self);
    std::vector<std::string> keys;
    {
      std::lock_guard taking(taking_);
      if (detached_) return true;
      const auto lookups = cache_->TakeLookups(&number, most);
      taken = !lookups.empty();
      keys.reserve(lookups.size());
      for (const RemoteCache::Lookup& lookup : lookups) keys.push_back(lookup.key);
    }
    {
      std::lock_guard lock(mutex_);
      if (cache_->HasEntries()) {
        offered_ = true;
        store_.notify_one();
      }
    }
    if (!taken) return true;
    const std::vector<CachePlugin::Value> found = LookUp(self, keys);
    std::vector<std::span<const char>> values(keys.size());
    for (size_t i = 0; i < found.size(); i++) {
      if (!found[i].block) continue;
      values[i] = {static_cast<const char*>(found[i].block->data()), found[i].size};
    }
    // With fewer results than keys and nothing found, the look-ups have failed.
    const bool found_some = std::any_of(values.begin(), values.end(),
                                        [](const auto& value) { return value.data() != nullptr; });
    if (found.size() < keys.size() && !found_some) values.clear();
    cache_->Answer(number, values);
    return true;
  } catch (const std::bad_alloc&) {
    if (taken) cache_->Answer(number, {});
    return false;
  }
}

std::vector<CachePlugin::Value> CacheOwner::LookUp(Worker* self,
                                                   const std::vector<std::string>& keys) {
  const uint64_t limit_ns = cache_->options().timeout_ns;
  std::vector<CachePlugin::Value> found;
  found.reserve(keys.size());
  Status fault;
  bool is_late = false;
  while (found.size() < keys.size()) {
    const uint64_t start_ns = NowNs();
    {
      std::lock_guard lock(mutex_);
      // The rest of what waits at a close runs without the cache.
      if (stop_ && !found.empty()) return found;
      BeginLookup(self, start_ns);
    }
    CachePlugin::Value value;
    Status status = MakeStatus([&] {
      return plugin_->Lookup(keys[found.size()], &cache_->pool(), cache_->options().most_bytes,
                             &value);
    });
    if (!status.ok() && fault.ok()) fault = std::move(status);
    const uint64_t now_ns = NowNs();
    const uint64_t took_ns = now_ns - start_ns;
    is_late = took_ns > limit_ns;
    std::lock_guard lock(mutex_);
    usual_ns_ = usual_ns_ == 0 ? took_ns : (7 * usual_ns_ + took_ns) / 8;
    // Unless the keeper has seen it.
    if (is_late && !self->is_late) Rest(now_ns);
    // What follows is not the plug-in's time.
    End(self);
    // Nobody waits any more: the requests have waited for as long as this look-up.
    if (is_late) return found;
    found.push_back(std::move(value));
  }
  std::lock_guard lock(mutex_);
  if (!fault.ok()) {
    // A failure at once delays nobody. After a probe, the next look-up is tried, too.
    NoteFault(fault.message(), NowNs());
    if (!resting_) cache_->SetMode(RemoteCache::Mode::kOpen);
  } else {
    NoteSuccess();
  }
  return found;
}

void CacheOwner::Store(Worker* self) {
  platform::NameThread("cache storer");
  std::unique_lock lock(mutex_);
  for (;;) {
    store_.wait(lock, [this] { return offered_ || stop_; });
    const bool is_last = stop_;
    offered_ = false;
    lock.unlock();
    try {
      StoreAll(self);
    } catch (const std::bad_alloc&) {
      // They are dropped.
    }
    lock.lock();
    End(self);
    if (is_last) return;
  }
}

void CacheOwner::StoreAll(Worker* self) {
  for (const RemoteCache::Entry& entry : cache_->TakeEntries()) {
    {
      std::lock_guard lock(mutex_);
      const uint64_t now_ns = NowNs();
      if (stop_ && now_ns - stop_ns_ > kStoreLeftNs) return;
      Begin(self, now_ns);
    }
    const Status status = plugin_->Insert(entry.key, entry.value);
    std::lock_guard lock(mutex_);
    End(self);
    const bool failed_before = std::exchange(storing_fails_, !status.ok());
    const uint64_t now_ns = NowNs();
    // Whoever answers no look-ups was told of already.
    if (status.ok() || failed_before || !state_.up || stop_) continue;
    if (told_ns_ != 0 && now_ns - told_ns_ < kToldEveryNs) continue;
    told_ns_ = now_ns;
    Note({": insert failed: ", status.message()});
  }
}

}  // namespace tritonts::plugins

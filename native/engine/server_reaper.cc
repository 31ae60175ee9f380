// How a server's versions end, and the server itself: retirements, which one thread, the reaper,
// takes step by step.
#include <algorithm>
#include <chrono>

#include "../platform/thread.h"
#include "clock.h"
#include "exit.h"
#include "leak.h"
#include "server.h"

namespace tritonts {

namespace {

constexpr uint64_t kMs = 1'000'000;
// How long a retired version goes on accepting for the sake of an environment that does not answer.
constexpr uint64_t kPortsWaitNs = 1000 * kMs;
// How long a run may go on after it was asked to end.
constexpr uint64_t kAbortWaitNs = 2000 * kMs;

}  // namespace

void Server::RetireLocked(const std::shared_ptr<ModelVersion>& version, uint64_t deadline_ns,
                          std::function<void(bool)> done) {
  for (Retirement& known : retirements_) {
    if (known.version != version) continue;
    // Running batches that were asked to end have their time whoever is in a hurry.
    if (known.phase != Retirement::Phase::kAborting) {
      known.deadline_ns = std::min(known.deadline_ns, deadline_ns);
    }
    if (done) known.done.push_back(std::move(done));
    return;
  }
  Retirement retirement;
  retirement.version = version;
  retirement.epoch = epoch_;
  retirement.ports_deadline_ns = NowNs() + kPortsWaitNs;
  retirement.deadline_ns = deadline_ns;
  if (done) retirement.done.push_back(std::move(done));
  retirements_.push_back(std::move(retirement));
  AskPortsLocked();
}

void Server::Retire(uint32_t uid, std::function<void(bool)> done) {
  {
    std::lock_guard lock(mutex_);
    const auto known = versions_.find(uid);
    if (known != versions_.end()) {
      RetireLocked(known->second, UINT64_MAX, std::move(done));
      reap_again_ = true;
      reap_wanted_.notify_one();
      return;
    }
  }
  done(false);
}

void Server::Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done) {
  std::vector<std::string> given_up;
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      closing_ = true;
      loaders_.Close();
      const uint64_t now = NowNs();
      // A time limit of centuries is no limit: the system's own times must not overflow.
      const uint64_t deadline =
          timeout_ms > UINT64_MAX / kMs / 4 ? UINT64_MAX : now + timeout_ms * kMs;
      for (const auto& weak : ports_) {
        if (auto port = weak.lock()) port->ShowClosed();
      }
      ShowEpochLocked();
      for (const auto& [uid, version] : versions_) RetireLocked(version, deadline, {});
      if (deadline != UINT64_MAX) {
        loads_deadline_ns_ = std::min(loads_deadline_ns_, deadline + kAbortWaitNs);
      }
      close_done_.push_back(std::move(done));
      reap_again_ = true;
      reap_wanted_.notify_one();
      return;
    }
    given_up = given_up_;
  }
  done(std::move(given_up));
}

bool Server::WaitClosed(uint64_t wait_ms) {
  std::unique_lock lock(mutex_);
  return closed_changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                                  [&] { return closed_; });
}

void Server::Join() {
  std::thread reaper;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    closed_ = true;
    reaper.swap(reaper_);
    reap_again_ = true;
    reap_wanted_.notify_one();
  }
  loaders_.Close();
  loaders_.Join();
  if (reaper.joinable()) reaper.join();
  timer_.Stop();
  std::shared_ptr<Server> self;
  std::lock_guard lock(mutex_);
  self.swap(self_);  // its caller holds another reference
}

bool Server::PortsHaveSeenLocked(uint32_t epoch) {
  return std::all_of(ports_.begin(), ports_.end(), [&](const auto& weak) {
    const auto port = weak.lock();
    return !port || port->detached() || static_cast<int32_t>(port->acknowledged() - epoch) >= 0;
  });
}

uint64_t Server::Reap(std::unique_lock<std::mutex>* lock) {
  uint64_t next = UINT64_MAX;
  for (size_t i = 0; i < retirements_.size();) {
    const std::shared_ptr<ModelVersion> version = retirements_[i].version;
    const uint64_t now = NowNs();
    const auto phase = retirements_[i].phase;
    if (version->starting()) {  // its loader reports when that is over
      i++;
      continue;
    }
    if (phase == Retirement::Phase::kAwaitingPorts) {
      const uint64_t until =
          std::min(retirements_[i].ports_deadline_ns, retirements_[i].deadline_ns);
      if (!PortsHaveSeenLocked(retirements_[i].epoch) && now < until) {
        next = std::min(next, until);
        i++;
        continue;
      }
      retirements_[i].phase = Retirement::Phase::kDraining;
      lock->unlock();
      version->Close();
      lock->lock();
      continue;
    }
    lock->unlock();
    const bool drained = version->drained();
    lock->lock();
    if (!drained && now < retirements_[i].deadline_ns) {
      next = std::min(next, retirements_[i].deadline_ns);
      i++;
      continue;
    }
    if (!drained && phase == Retirement::Phase::kDraining) {
      retirements_[i].phase = Retirement::Phase::kAborting;
      retirements_[i].deadline_ns = NowNs() + kAbortWaitNs;
      lock->unlock();
      version->Abort(Status::Cancelled("model '" + version->name() +
                                       "': the server was closed before the request ran"));
      lock->lock();
      continue;
    }
    Retirement retirement = std::move(retirements_[i]);
    retirements_.erase(retirements_.begin() + static_cast<ptrdiff_t>(i));
    versions_.erase(version->uid());
    if (!drained) given_up_.push_back(version->name());
    lock->unlock();
    if (drained) {
      RuntimeCall call;
      version->Destroy();
    } else {
      KeepForever(version);
      version->Leak();
    }
    for (const auto& done : retirement.done) done(!drained);
    lock->lock();
  }
  return next;
}

void Server::GiveUpLoads(std::unique_lock<std::mutex>* lock) {
  KeepForever(shared_from_this());
  lock->unlock();
  const std::vector<std::string> names = loaders_.GiveUp();
  lock->lock();
  given_up_.insert(given_up_.end(), names.begin(), names.end());
  std::vector<Retirement> stuck;
  for (Retirement& retirement : retirements_) {
    if (retirement.version->starting()) stuck.push_back(std::move(retirement));
  }
  std::erase_if(retirements_, [](const Retirement& one) { return !one.version; });
  for (const Retirement& one : stuck) versions_.erase(one.version->uid());
  lock->unlock();
  for (const Retirement& one : stuck) {
    KeepForever(one.version);
    for (const auto& done : one.done) done(true);
  }
  lock->lock();
}

void Server::RunReaper() {
  platform::NameThread("tritonts-reap");
  std::unique_lock lock(mutex_);
  while (true) {
    reap_again_ = false;
    uint64_t next = Reap(&lock);
    if (closing_ && !loaders_.idle()) {
      if (NowNs() >= loads_deadline_ns_) {
        loads_deadline_ns_ = UINT64_MAX;
        GiveUpLoads(&lock);
        continue;
      }
      next = std::min(next, loads_deadline_ns_);
    }
    if (closing_ && loaders_.idle() && retirements_.empty() && !reap_again_) {
      if (!versions_.empty()) {
        // Opened while the server was closing: nobody will start these.
        const uint64_t now = NowNs();
        for (const auto& [uid, version] : versions_) RetireLocked(version, now, {});
        continue;
      }
      if (!closed_) {
        closed_ = true;
        closed_changed_.notify_all();
      }
      auto callbacks = std::move(close_done_);
      close_done_.clear();
      const auto given_up = given_up_;
      lock.unlock();
      for (const auto& done : callbacks) done(given_up);
      lock.lock();
      return;
    }
    if (reap_again_) continue;
    const auto changed = [&] { return reap_again_; };
    if (next == UINT64_MAX) {
      reap_wanted_.wait(lock, changed);
    } else {
      const uint64_t now = NowNs();
      const uint64_t wait = next > now ? next - now : 0;
      reap_wanted_.wait_for(lock, std::chrono::nanoseconds(wait), changed);
    }
  }
}

}  // namespace tritonts

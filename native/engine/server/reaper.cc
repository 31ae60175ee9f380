#include "engine/server/reaper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/abandon.h"
#include "engine/base/clock.h"
#include "engine/base/insist.h"
#include "engine/server/loaders.h"
#include "engine/server/port_list.h"
#include "engine/server/version_table.h"
#include "engine/version/served.h"

namespace tritonts {

Reaper::Reaper(const Parts& parts) : parts_(parts) {}

Reaper::~Reaper() {
  Join();
}

bool Reaper::Start() {
  return thread_.Start([this] { Run(); });
}

void Reaper::Join() {
  {
    std::lock_guard lock(mutex_);
    stop_ = closing_ = closed_ = true;
    wanted_.notify_one();
  }
  thread_.Join();
}

void Reaper::Retire(const std::shared_ptr<Served>& version, std::function<void(bool)> done) {
  const uint32_t epoch = parts_.ports->epoch();
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      orders_.push_back({version, epoch, std::move(done)});
      busy_ = again_ = true;
      wanted_.notify_one();
      return;
    }
  }
  done(false);
}

void Reaper::Close(uint64_t limit_ns, std::function<void(std::vector<std::string>)> done) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      close_done_.push_back(std::move(done));
      closing_ = busy_ = again_ = true;
      limit_ns_ = std::min(limit_ns_, limit_ns);
      wanted_.notify_one();
      return;
    }
  }
  done(Abandoned());
}

bool Reaper::closing() const {
  std::lock_guard lock(mutex_);
  return closing_;
}

bool Reaper::WaitClosed(uint64_t wait_ms) {
  std::unique_lock lock(mutex_);
  return closed_changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                                  [this] { return closed_; });
}

// Wakes the thread only if a version is ending, because most changes concern no such version.
void Reaper::Wake() {
  std::lock_guard lock(mutex_);
  if (!busy_) return;
  again_ = true;
  wanted_.notify_one();
}

void Reaper::Begin(const std::shared_ptr<Served>& version, uint32_t epoch, uint64_t limit_ns,
                   const std::function<void(bool)>& done) {
  auto known = endings_.find(version->uid());
  if (known == endings_.end()) {
    Ending ending{version, epoch, Retirement(NowNs(), limit_ns), {}, false, {}};
    known = endings_.emplace(version->uid(), std::move(ending)).first;
    parts_.ports->Ask(epoch);
  } else {
    known->second.steps.Limit(limit_ns);
  }
  if (done) known->second.done.push_back(done);
}

void Reaper::TakeOrders() {
  std::vector<Order> orders;
  bool closing = false;
  uint64_t limit_ns = Retirement::kNoLimit;
  {
    std::lock_guard lock(mutex_);
    orders.swap(orders_);
    closing = closing_;
    limit_ns = limit_ns_;
    again_ = false;
  }
  for (Order& order : orders) {
    // The version may have ended since the order was given.
    if (parts_.versions->Has(order.version->uid())) {
      const uint64_t wait_ns = order.version->unload_wait_ns();
      const uint64_t now_ns = NowNs();
      const uint64_t its_limit_ns =
          wait_ns < Retirement::kNoLimit - now_ns ? now_ns + wait_ns : Retirement::kNoLimit;
      Insist([&] { Begin(order.version, order.epoch, its_limit_ns, order.done); });
    } else {
      Insist([&] { order.done(false); });
    }
  }
  if (closing) {
    const uint32_t epoch = parts_.ports->epoch();
    for (auto version = parts_.versions->After(0); version;
         version = parts_.versions->After(version->uid())) {
      Insist([&] { Begin(version, epoch, limit_ns, {}); });
    }
  }
}

Retirement::Facts Reaper::FactsOf(const Ending& ending) const {
  using Phase = Retirement::Phase;
  Retirement::Facts facts;
  facts.now_ns = NowNs();
  const Phase phase = ending.steps.phase();
  // A version must not be destroyed while a call asks its runs to end.
  const bool returned = !ending.call || parts_.destroyer->Returned(*ending.call);
  if (phase == Phase::kAwaitingPorts) {
    facts.ports_have_seen = parts_.ports->HaveSeen(ending.epoch);
    facts.used = ending.version->used();
  } else if (phase == Phase::kDestroying) {
    facts.destroyed = returned;
  } else {
    // Read `starting` before `drained`: a closed version does not begin to start any more.
    facts.starting = ending.version->starting();
    facts.drained = returned && ending.version->drained();
  }
  return facts;
}

namespace {

// The status of waiting requests at the limit.
Status CutOff(const Served& version, bool closing) {
  return MakeStatus([&] {
    return Status::Cancelled(
        "model '" + version.name() +
        (closing ? "': the server was closed before the request ran"
                 : "': the model was unloaded before the request ran, after a wait of " +
                       std::to_string(version.unload_wait_ns() / 1'000'000) +
                       " ms (workers.unloadTimeoutMs)"));
  });
}

}  // namespace

template <typename Body>
std::shared_ptr<Destroyer::Call> Reaper::Call(const Body& body) {
  return Insist([&] { return parts_.destroyer->Add(body); });
}

bool Reaper::GoOn(Ending* ending) {
  const std::shared_ptr<Served>& version = ending->version;
  bool abandoned = false;
  for (bool over = false; !over;) {
    switch (ending->steps.Next(FactsOf(*ending))) {
      case Retirement::Step::kWait:
        return false;
      case Retirement::Step::kClose:
        // Close with the abort's status if the limit is over. Ensembles may send requests until
        // now, and Abort comes later, on another thread.
        version->Close(ending->steps.over(NowNs()) ? CutOff(*version, closing()) : Status::Ok());
        break;
      case Retirement::Step::kAbort:
        ending->call = Call([version, closes = closing(), server = parts_.server()] {
          version->Abort(CutOff(*version, closes));
        });
        break;
      case Retirement::Step::kDestroy:
        ending->destroying = true;
        ending->call = Call([version, server = parts_.server()] { version->Destroy(); });
        break;
      case Retirement::Step::kAbandon:
        abandoned = AbandonVersion(*ending);
        over = true;
        break;
      case Retirement::Step::kEnd:
        over = true;
        break;
    }
  }
  parts_.versions->Remove(version->uid());
  if (abandoned) NoteAbandoned(version->name());
  for (const auto& done : ending->done) Insist([&] { done(abandoned); });
  return true;
}

bool Reaper::AbandonVersion(const Ending& ending) {
  const std::shared_ptr<Served>& version = ending.version;
  const bool left = ending.call && parts_.destroyer->Abandon(ending.call);
  if (ending.destroying) {
    if (!left) return false;
  } else if (version->warming() || !version->LeaveToStart()) {
    // A loader owns the instances that it is creating, but runs of a warm-up must be abandoned
    // here.
    version->Abandon();
  }
  Abandon(version);
  return true;
}

uint64_t Reaper::GoOn() {
  uint64_t next = UINT64_MAX;
  for (auto one = endings_.begin(); one != endings_.end();) {
    if (GoOn(&one->second)) {
      one = endings_.erase(one);
    } else {
      next = std::min(next, one->second.steps.wake_at_ns());
      ++one;
    }
  }
  return next;
}

uint64_t Reaper::WatchLoads() {
  uint64_t limit_ns = Retirement::kNoLimit;
  {
    std::lock_guard lock(mutex_);
    if (closing_) limit_ns = limit_ns_;
  }
  if (limit_ns == Retirement::kNoLimit || loads_abandoned_ || parts_.loaders->idle()) {
    return UINT64_MAX;
  }
  const uint64_t abandon_ns = limit_ns + Retirement::kAbandonWaitNs;
  if (NowNs() < abandon_ns) return abandon_ns;
  loads_abandoned_ = true;
  for (const std::string& name : parts_.loaders->Abandon()) NoteAbandoned(name);
  return UINT64_MAX;
}

void Reaper::NoteAbandoned(const std::string& name) {
  Insist([&] {
    std::lock_guard lock(mutex_);
    if (std::find(abandoned_.begin(), abandoned_.end(), name) == abandoned_.end()) {
      abandoned_.push_back(name);
    }
  });
}

std::vector<std::string> Reaper::Abandoned() const {
  std::lock_guard lock(mutex_);
  return abandoned_;
}

bool Reaper::Finish() {
  // Check the loaders before the versions, because a load may add a version until it has ended.
  const bool ended = endings_.empty() && parts_.loaders->idle() && parts_.versions->empty();
  std::vector<std::function<void(std::vector<std::string>)>> callbacks;
  {
    std::lock_guard lock(mutex_);
    busy_ = closing_ || !endings_.empty() || !orders_.empty();
    if (stop_) return true;
    if (!closing_ || !ended || again_) return false;
    closed_ = true;
    closed_changed_.notify_all();
    callbacks.swap(close_done_);
  }
  for (const auto& done : callbacks) Insist([&] { done(Abandoned()); });
  return true;
}

void Reaper::Run() {
  platform::NameThread("tritonts-reap");
  while (true) {
    TakeOrders();
    // Watch the loads first: a version may be left only to a load that was already abandoned.
    uint64_t next = WatchLoads();
    next = std::min(next, GoOn());
    if (Finish()) return;
    std::unique_lock lock(mutex_);
    const auto changed = [this] { return again_ || stop_; };
    if (next == UINT64_MAX) {
      wanted_.wait(lock, changed);
    } else {
      const uint64_t now = NowNs();
      wanted_.wait_for(lock, std::chrono::nanoseconds(next > now ? next - now : 0), changed);
    }
  }
}

}  // namespace tritonts

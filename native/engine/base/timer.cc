#include "engine/base/timer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/clock.h"

namespace tritonts {

namespace {
// A longer wait is split into several waits, so that the system's time type does not overflow.
constexpr uint64_t kLongestWaitNs = uint64_t{3600} * 1'000'000'000;
}  // namespace

TimerClient::TimerClient() {
  Calls calls;
  idle_ = calls.extract(calls.emplace(0, this));
}

Timer::~Timer() {
  Stop();
}

bool Timer::Start() {
  return thread_.Start([this] { Run(); });
}

void Timer::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.Join();
}

void Timer::Schedule(TimerClient* client, uint64_t at_ns) {
  bool earliest = false;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    if (client->idle_.empty() && client->pending_->first == at_ns) return;
    Forget(client);
    client->idle_.key() = at_ns;
    client->pending_ = times_.insert(std::move(client->idle_));
    earliest = times_.begin()->second == client;
  }
  if (earliest) changed_.notify_one();
}

void Timer::Forget(TimerClient* client) {
  if (client->idle_.empty()) client->idle_ = times_.extract(client->pending_);
}

void Timer::Remove(TimerClient* client) {
  std::unique_lock lock(mutex_);
  Forget(client);
  idle_.wait(lock, [&] { return calling_ != client; });
}

void Timer::Run() {
  platform::NameThread("tritonts-timer");
  platform::UseExactTimers();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (times_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const uint64_t now = NowNs();
    const uint64_t next = times_.begin()->first;
    if (next > now) {
      changed_.wait_for(lock, std::chrono::nanoseconds(std::min(next - now, kLongestWaitNs)));
      continue;
    }
    calling_ = times_.begin()->second;
    Forget(calling_);
    lock.unlock();
    calling_->OnTimer(now);
    lock.lock();
    calling_ = nullptr;
    idle_.notify_all();
  }
}

}  // namespace tritonts

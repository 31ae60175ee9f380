// One thread that calls model versions back at the time their schedulers asked for.
//
// A version has at most one pending time: scheduling again replaces it. Any thread may schedule,
// also while holding its version's lock, and that needs no memory: each client brings its own.
// OnTimer is called with no lock held. Its owner starts it before anybody schedules, so that no
// request meets a system that has no thread for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "platform/thread.h"

namespace tritonts {

class TimerClient {
 public:
  TimerClient();  // throws std::bad_alloc
  virtual ~TimerClient() = default;
  TimerClient(const TimerClient&) = delete;
  TimerClient& operator=(const TimerClient&) = delete;
  virtual void OnTimer(uint64_t now_ns) = 0;

 private:
  friend class Timer;
  using Calls = std::multimap<uint64_t, TimerClient*>;

  // The timer's lock.
  Calls::node_type idle_;    // its place among the times, while it has none; else empty
  Calls::iterator pending_;  // where its time is, while it has one
};

class Timer {
 public:
  Timer() = default;
  ~Timer();  // stops; no client may be left
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starts the thread; its owner, once. False: the system has none for it.
  [[nodiscard]] bool Start();
  // Calls `client` at `at_ns` (NowNs' clock), or as soon after as the system allows.
  void Schedule(TimerClient* client, uint64_t at_ns);
  // Forgets `client`, and waits for a call to it that is under way. Not with the client's lock
  // held.
  void Remove(TimerClient* client);
  // Ends the thread, and waits for it; nothing is called back any more. Its owner, and not on the
  // timer's thread.
  void Stop();

 private:
  void Run();
  // Takes the client's time out, where it has one. With the lock.
  void Forget(TimerClient* client);

  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable changed_;
  std::condition_variable idle_;
  TimerClient::Calls times_;
  TimerClient* calling_ = nullptr;
  bool stop_ = false;
  platform::Thread thread_;  // its owner's
};

}  // namespace tritonts

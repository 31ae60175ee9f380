// One thread that calls model versions back at the time their schedulers asked for.
//
// A version has at most one pending time: scheduling again replaces it. Any thread may schedule,
// also while holding its version's lock; OnTimer is called with no lock held. Its owner starts it
// before anybody schedules, so that no request meets a system that has no thread for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "platform/thread.h"

namespace tritonts {

class TimerClient {
 public:
  virtual ~TimerClient() = default;
  virtual void OnTimer(uint64_t now_ns) = 0;
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

  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::multimap<uint64_t, TimerClient*> times_;
  std::unordered_map<TimerClient*, std::multimap<uint64_t, TimerClient*>::iterator> clients_;
  TimerClient* calling_ = nullptr;
  bool stop_ = false;
  platform::Thread thread_;  // its owner's
};

}  // namespace tritonts

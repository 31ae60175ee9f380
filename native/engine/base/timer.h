// One thread that calls model versions back at the times that their schedulers requested.
//
// A client has at most one pending time: scheduling again replaces it. Any thread may schedule,
// even while it holds its version's lock. Scheduling does not allocate, because each client brings
// its own entry. OnTimer is called on the timer's thread with no lock held.
//
// The server owns the timer and starts it before any client schedules. So no request ever waits for
// a timer thread that the system cannot provide.
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

  // Guarded by the timer's lock.
  Calls::node_type idle_;    // its map entry while it is not scheduled; else empty
  Calls::iterator pending_;  // its position in Timer::times_ while it is scheduled
};

class Timer {
 public:
  Timer() = default;
  ~Timer();  // stops; every client must have been removed
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starts the thread. The owner calls this once. False: the system has no thread.
  [[nodiscard]] bool Start();
  // Calls `client` at `at_ns` (the clock of NowNs), or as soon afterwards as the system allows.
  void Schedule(TimerClient* client, uint64_t at_ns);
  // Forgets `client`, and waits for a call to it that is under way. The caller must not hold the
  // client's lock.
  void Remove(TimerClient* client);
  // Ends the thread and waits for it. Nothing is called back afterwards. Only the owner calls this,
  // and not on the timer's thread.
  void Stop();

 private:
  void Run();
  // Removes the client's time, if it has one. The caller holds the lock.
  void Forget(TimerClient* client);

  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable changed_;
  std::condition_variable idle_;
  TimerClient::Calls times_;
  TimerClient* calling_ = nullptr;
  bool stop_ = false;
  platform::Thread thread_;  // only the owner touches it
};

}  // namespace tritonts

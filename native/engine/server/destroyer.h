// Threads that abort and destroy versions of models. A backend may take long to end a run or to
// destroy an instance or a model, or never return. No other thread waits for that.
//
// Threads start on demand. One thread makes the queued calls. If no queued call has begun for a
// while, because a slow call is before them, another thread helps. A call that does not return can
// be abandoned, together with its thread and the state that they share with this object.
//
// The server owns it. Any thread may call any function, but only the owner may call Join and the
// destructor. Calls and callbacks run with no lock held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace tritonts {

class Destroyer {
 public:
  // A call that was queued.
  class Call;

  // `changed` is called when a call has returned. If no call has begun for the time `overdue`,
  // another thread takes the next queued call.
  explicit Destroyer(std::function<void()> changed,
                     std::chrono::milliseconds overdue = std::chrono::milliseconds(20));
  ~Destroyer();  // joins
  Destroyer(const Destroyer&) = delete;
  Destroyer& operator=(const Destroyer&) = delete;

  // Queues a call. If no thread could be started at all, makes the call on this thread. If it
  // throws std::bad_alloc, nothing was queued.
  std::shared_ptr<Call> Add(std::function<void()> body);
  // Whether the call has returned.
  bool Returned(const Call& call) const;
  // Abandons a call. If it has not begun, it never begins. False: it has already returned.
  bool Abandon(const std::shared_ptr<Call>& call);
  // Makes the queued calls, and joins the threads that were not abandoned.
  void Join();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state, size_t thread);
  // Starts a thread, for which `starting` was set. False: the system could not start it.
  static bool StartThread(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with the threads
};

}  // namespace tritonts

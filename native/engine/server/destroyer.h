// Threads on which versions of models end: a backend that is asked to end a run, or to destroy an
// instance or a model, may take long, or never return, and nobody else waits for that.
//
// Threads start as they are needed. One makes what is queued, call after call; where none has begun
// for a while, because a slow one is before them, another thread joins in. What does not return can
// be abandoned: its thread is left behind, with what it needs of this object, and the process does
// not wait for it.
//
// Any thread, but for Join and the destructor. Nothing is called with the lock held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace tritonts {

class Destroyer {
 public:
  // A call that was ordered.
  class Call;

  // `changed` is called when a call has returned; `overdue` is how long the while is.
  explicit Destroyer(std::function<void()> changed,
                     std::chrono::milliseconds overdue = std::chrono::milliseconds(20));
  ~Destroyer();  // joins
  Destroyer(const Destroyer&) = delete;
  Destroyer& operator=(const Destroyer&) = delete;

  // Makes a call. Where the system has no thread at all for it, on this one. Throws
  // std::bad_alloc, and then did nothing.
  std::shared_ptr<Call> Add(std::function<void()> body);
  // Whether it has returned.
  bool Returned(const Call& call) const;
  // Leaves a call behind that has not returned; one that has not begun never begins. False: it has
  // returned.
  bool Abandon(const std::shared_ptr<Call>& call);
  // Makes what is queued, and joins the threads that were not abandoned.
  void Join();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state, size_t thread);
  // One more thread, which `starting` announces. False: the system has none.
  static bool StartThread(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with the threads
};

}  // namespace tritonts

#include "engine/server/destroyer.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/exit.h"
#include "engine/base/thread_group.h"
#include "platform/thread.h"

namespace tritonts {

class Destroyer::Call {
 public:
  enum class State { kQueued, kRunning, kReturned, kAbandoned };

  std::function<void()> body;
  // Guarded by the destroyer's lock:
  State state = State::kQueued;
  size_t thread = 0;  // that runs the call
};

struct Destroyer::State {
  using Clock = std::chrono::steady_clock;

  std::function<void()> changed;
  std::chrono::milliseconds overdue;
  ThreadGroup threads;

  mutable std::mutex mutex;        // guards all below
  std::condition_variable wanted;  // threads wait for a call, or until a call is overdue
  std::list<std::shared_ptr<Call>> queue;
  size_t alive = 0;         // threads that run or start, except abandoned threads
  size_t idle = 0;          // alive threads that wait
  size_t running = 0;       // calls that run
  Clock::time_point moved;  // when a call last began, or was added to an empty queue
  bool starting = false;
  bool closed = false;

  // Waits until there is a call for this thread. Called with the lock held, which is released
  // during the wait. False: no call will come.
  bool Await(std::unique_lock<std::mutex>* lock) {
    while (true) {
      if (queue.empty()) {
        if (closed) return false;
        idle++;
        wanted.wait(*lock);
        idle--;
        continue;
      }
      const auto due = moved + overdue;
      if (running == 0 || closed || Clock::now() >= due) return true;
      idle++;
      wanted.wait_until(*lock, due);
      idle--;
    }
  }

  // Whether to start another thread, which waits for the queued calls to be overdue. If so, counts
  // the thread as starting. Called with the lock held.
  bool WantsThread() {
    if (queue.empty() || idle > 0 || starting) return false;
    starting = true;
    alive++;
    return true;
  }
};

Destroyer::Destroyer(std::function<void()> changed, std::chrono::milliseconds overdue)
    : state_(std::make_shared<State>()) {
  state_->changed = std::move(changed);
  state_->overdue = overdue;
}

Destroyer::~Destroyer() {
  Join();
}

bool Destroyer::StartThread(const std::shared_ptr<State>& state) {
  try {
    if (state->threads.Start([state](size_t thread) { Run(state, thread); })) return true;
  } catch (const std::bad_alloc&) {
    // Handled below like a failure of the system to start a thread.
  }
  std::lock_guard lock(state->mutex);
  state->starting = false;
  state->alive--;
  return false;
}

std::shared_ptr<Destroyer::Call> Destroyer::Add(std::function<void()> body) {
  auto call = std::make_shared<Call>();
  call->body = std::move(body);
  std::list<std::shared_ptr<Call>> one{call};
  bool start = false;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->queue.empty()) state_->moved = State::Clock::now();
    state_->queue.splice(state_->queue.end(), one);
    start = state_->WantsThread();
    state_->wanted.notify_one();
  }
  if (!start || StartThread(state_)) return call;
  {
    std::lock_guard lock(state_->mutex);
    // Another thread will make the call, or has taken it already.
    if (state_->alive > 0 || std::erase(state_->queue, call) == 0) return call;
    call->state = Call::State::kRunning;
  }
  {
    RuntimeCall runtime;
    call->body();
  }
  {
    std::lock_guard lock(state_->mutex);
    call->state = Call::State::kReturned;
  }
  call->body = nullptr;
  state_->changed();
  return call;
}

bool Destroyer::Returned(const Call& call) const {
  std::lock_guard lock(state_->mutex);
  return call.state == Call::State::kReturned;
}

bool Destroyer::Abandon(const std::shared_ptr<Call>& call) {
  size_t thread = 0;
  bool start = false;
  {
    std::lock_guard lock(state_->mutex);
    if (call->state == Call::State::kReturned) return false;
    if (call->state == Call::State::kAbandoned) return true;
    const bool began = call->state == Call::State::kRunning;
    call->state = Call::State::kAbandoned;
    if (!began) {
      std::erase(state_->queue, call);
      return true;
    }
    thread = call->thread;
    state_->running--;
    state_->alive--;
    CountAbandonedCalls(1);
    start = state_->WantsThread();
    state_->wanted.notify_one();
  }
  state_->threads.Abandon(thread);
  if (start) (void)StartThread(state_);
  return true;
}

void Destroyer::Join() {
  {
    std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->wanted.notify_all();
  }
  state_->threads.Join();
}

void Destroyer::Run(const std::shared_ptr<State>& state, size_t thread) {
  platform::NameThread("tritonts-end");
  {
    std::lock_guard lock(state->mutex);
    state->starting = false;
  }
  while (true) {
    std::shared_ptr<Call> call;
    bool start = false;
    {
      std::unique_lock lock(state->mutex);
      if (!state->Await(&lock)) return;
      call = std::move(state->queue.front());
      state->queue.pop_front();
      call->state = Call::State::kRunning;
      call->thread = thread;
      state->running++;
      state->moved = State::Clock::now();
      start = state->WantsThread();
      // Wake an idle thread, so that it waits for the next call to be overdue.
      if (!state->queue.empty()) state->wanted.notify_one();
    }
    if (start) (void)StartThread(state);
    {
      RuntimeCall runtime;
      call->body();
      bool abandoned = false;
      {
        std::lock_guard lock(state->mutex);
        abandoned = call->state == Call::State::kAbandoned;
        if (!abandoned) {
          call->state = Call::State::kReturned;
          state->running--;
        }
      }
      if (abandoned) {
        CountAbandonedCalls(-1);
        return;
      }
    }
    call->body = nullptr;  // free the body's captures with no lock held
    state->changed();
  }
}

}  // namespace tritonts

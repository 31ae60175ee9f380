#include "engine/server/loaders.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/base/exit.h"
#include "engine/base/thread_group.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

Status Cancelled(const std::string& model) {
  return Status::Cancelled("model '" + model + "': loading was given up");
}

}  // namespace

struct Loaders::State {
  using Clock = std::chrono::steady_clock;

  struct Queued {
    Task task;
    Clock::time_point since;
  };

  struct Running {
    Task task;
    size_t thread = 0;
    bool abandoned = false;
    bool telling = false;  // it returned: too late to abandon it
  };

  // Called by the loader threads, but for abandoned ones.
  std::function<void()> changed;

  Options options;
  ThreadGroup threads;

  mutable std::mutex mutex;         // guards all below
  std::condition_variable wanted;   // those within the cores wait for a task
  std::condition_variable overdue;  // those beyond wait for one, and then until it is overdue
  std::deque<Queued> queue;
  std::vector<std::shared_ptr<Running>> running;
  size_t started = 0;      // threads, and those on their way
  size_t idle_beyond = 0;  // of the threads beyond the cores, those that wait for a task
  size_t refusing = 0;     // tasks that some thread refuses at present
  bool closed = false;

  // With the lock, which is free meanwhile: until there is a task for this thread. False: there
  // will be none.
  bool Await(size_t thread, std::unique_lock<std::mutex>* lock) {
    if (thread < options.cores) {
      wanted.wait(*lock, [&] { return !queue.empty() || closed; });
      return !queue.empty();
    }
    while (!closed) {
      if (queue.empty()) {
        idle_beyond++;
        overdue.wait(*lock);
        idle_beyond--;
        continue;
      }
      const auto due = queue.front().since + options.overdue;
      if (Clock::now() >= due) break;
      overdue.wait_until(*lock, due);
    }
    // Where one is overdue, the next one may be.
    if (queue.size() > 1 && idle_beyond > 0) overdue.notify_one();
    return !queue.empty();
  }
};

Loaders::Loaders(const Options& options, std::function<void()> changed)
    : state_(std::make_shared<State>()) {
  state_->changed = std::move(changed);
  state_->options = options;
}

Loaders::~Loaders() {
  Close();
  Join();
}

bool Loaders::Start() {
  {
    std::lock_guard lock(state_->mutex);
    state_->started++;
  }
  return StartThread();
}

bool Loaders::StartThread() {
  // The threads keep what they share, and not the group, which they are joined by.
  if (state_->threads.Start([state = state_](size_t thread) { Run(state, thread); })) return true;
  std::lock_guard lock(state_->mutex);
  state_->started--;
  return false;
}

void Loaders::Add(Task task) {
  Status refused;
  bool start = false;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    if (state.closed) {
      refused = Cancelled(task.model);
    } else {
      state.queue.push_back({std::move(task), State::Clock::now()});
      const size_t wanted = state.queue.size() + state.running.size();
      start = state.started < std::min<size_t>(state.options.most_threads, wanted);
      if (start) state.started++;
      state.wanted.notify_one();
      if (state.idle_beyond > 0) state.overdue.notify_one();
    }
  }
  if (!refused.ok()) {
    task.run(refused)();
  } else if (start) {
    // Where there is none, those that there are take it.
    (void)StartThread();
  }
}

void Loaders::CancelQueued() {
  std::deque<State::Queued> queue;
  {
    std::lock_guard lock(state_->mutex);
    queue.swap(state_->queue);
    state_->refusing += queue.size();
  }
  for (const auto& [task, since] : queue) task.run(Cancelled(task.model))();
  {
    std::lock_guard lock(state_->mutex);
    state_->refusing -= queue.size();
  }
  // The loaders may find nothing to do now, and somebody may wait for that.
  state_->changed();
}

void Loaders::Close() {
  std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->wanted.notify_all();
  state_->overdue.notify_all();
}

bool Loaders::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->queue.empty() && state_->running.empty() && state_->refusing == 0;
}

std::vector<std::string> Loaders::Abandon() {
  CancelQueued();
  std::vector<std::shared_ptr<State::Running>> stuck;
  {
    std::lock_guard lock(state_->mutex);
    std::erase_if(state_->running, [&](const auto& one) {
      if (one->telling) return false;
      one->abandoned = true;
      stuck.push_back(one);
      return true;
    });
    CountAbandonedCalls(static_cast<int>(stuck.size()));
  }
  std::vector<std::string> names;
  for (const auto& one : stuck) {
    state_->threads.Abandon(one->thread);
    names.push_back(one->task.model);
    one->task.abandon(Status::Internal("model '" + one->task.model +
                                       "': loading did not return; it was abandoned"));
  }
  return names;
}

void Loaders::Join() {
  state_->threads.Join();
}

void Loaders::Run(const std::shared_ptr<State>& state, size_t thread) {
  platform::NameThread("tritonts-load");
  // The runtime's threads start here, too, and inherit it.
  platform::ComputeForLong();
  while (true) {
    auto running = std::make_shared<State::Running>();
    bool closed = false;
    {
      std::unique_lock lock(state->mutex);
      if (!state->Await(thread, &lock)) return;
      running->task = std::move(state->queue.front().task);
      running->thread = thread;
      state->queue.pop_front();
      state->running.push_back(running);
      closed = state->closed;
    }
    {
      RuntimeCall call;
      const Task& task = running->task;
      auto tell = task.run(closed || !call.allowed() ? Cancelled(task.model) : Status::Ok());
      bool abandoned = false;
      {
        std::lock_guard lock(state->mutex);
        abandoned = running->abandoned;
        running->telling = !abandoned;
      }
      if (abandoned) {
        task.discard();
        CountAbandonedCalls(-1);
        return;
      }
      tell();
    }
    {
      std::lock_guard lock(state->mutex);
      std::erase(state->running, running);
    }
    state->changed();
    // What the task held goes here, with no lock held.
  }
}

}  // namespace tritonts

#include "loaders.h"

#include <algorithm>
#include <system_error>

#include "../platform/thread.h"
#include "exit.h"

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
    bool given_up = false;
    bool telling = false;  // it returned: too late to give it up
  };

  // Called by the loader threads, until GiveUp took these from them.
  std::function<void()> changed;

  Options options;

  mutable std::mutex mutex;         // guards all below
  std::condition_variable wanted;   // those within the cores wait for a task
  std::condition_variable overdue;  // those beyond wait for one, and then until it is overdue
  std::deque<Queued> queue;
  std::vector<std::shared_ptr<Running>> running;
  std::vector<std::thread> threads;
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

void Loaders::Add(Task task) {
  Status refused;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    const size_t wanted = state.queue.size() + state.running.size() + 1;
    if (state.closed) {
      refused = Cancelled(task.model);
    } else if (state.threads.size() < std::min<size_t>(state.options.most_threads, wanted)) {
      try {
        state.threads.emplace_back(
            [state = state_, thread = state.threads.size()] { Run(state, thread); });
      } catch (const std::system_error&) {
        if (state.threads.empty()) {
          refused = Status::Unavailable("model '" + task.model +
                                        "': the system has no thread to load it with");
        }
      }
    }
    if (refused.ok()) {
      state.queue.push_back({std::move(task), State::Clock::now()});
      state.wanted.notify_one();
      if (state.idle_beyond > 0) state.overdue.notify_one();
      return;
    }
  }
  task.run(refused)();
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

std::vector<std::string> Loaders::GiveUp() {
  CancelQueued();
  std::vector<std::shared_ptr<State::Running>> stuck;
  {
    std::lock_guard lock(state_->mutex);
    std::erase_if(state_->running, [&](const auto& one) {
      if (one->telling) return false;
      one->given_up = true;
      state_->threads[one->thread].detach();
      stuck.push_back(one);
      return true;
    });
    CountGivenUpCalls(static_cast<int>(stuck.size()));
  }
  std::vector<std::string> names;
  for (const auto& one : stuck) {
    names.push_back(one->task.model);
    one->task.give_up(Status::Internal("model '" + one->task.model +
                                       "': loading did not return; it was given up"));
  }
  return names;
}

void Loaders::Join() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(state_->mutex);
    threads.swap(state_->threads);
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

void Loaders::Run(const std::shared_ptr<State>& state, size_t thread) {
  platform::NameThread("tritonts-load");
  // The runtime's threads start here, too, and inherit it.
  platform::ComputeForLong();
  std::unique_lock lock(state->mutex);
  while (true) {
    if (!state->Await(thread, &lock)) return;
    auto running = std::make_shared<State::Running>();
    running->task = std::move(state->queue.front().task);
    running->thread = thread;
    state->queue.pop_front();
    state->running.push_back(running);
    const bool closed = state->closed;
    lock.unlock();
    {
      RuntimeCall call;
      const Task& task = running->task;
      auto tell = task.run(closed || !call.allowed() ? Cancelled(task.model) : Status::Ok());
      lock.lock();
      if (running->given_up) {
        lock.unlock();
        task.discard();
        CountGivenUpCalls(-1);
        return;
      }
      running->telling = true;
      lock.unlock();
      tell();
    }
    lock.lock();
    std::erase(state->running, running);
    lock.unlock();
    state->changed();
    lock.lock();
  }
}

}  // namespace tritonts

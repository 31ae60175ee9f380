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
  struct Running {
    Task task;
    size_t thread = 0;
    bool given_up = false;
    bool telling = false;  // it returned: too late to give it up
  };

  // Called by the loader threads, until GiveUp took these from them.
  std::function<void()> changed;

  mutable std::mutex mutex;  // guards all below
  std::condition_variable wanted;
  std::deque<Task> queue;
  std::vector<std::shared_ptr<Running>> running;
  std::vector<std::thread> threads;
  size_t most_threads = 0;
  size_t refusing = 0;  // tasks that some thread refuses at present
  bool closed = false;
};

Loaders::Loaders(uint32_t most_threads, std::function<void()> changed)
    : state_(std::make_shared<State>()) {
  state_->changed = std::move(changed);
  state_->most_threads = most_threads;
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
    } else if (state.threads.size() < std::min(state.most_threads, wanted)) {
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
      state.queue.push_back(std::move(task));
      state.wanted.notify_one();
      return;
    }
  }
  task.run(refused)();
}

void Loaders::CancelQueued() {
  std::deque<Task> queue;
  {
    std::lock_guard lock(state_->mutex);
    queue.swap(state_->queue);
    state_->refusing += queue.size();
  }
  for (const Task& task : queue) task.run(Cancelled(task.model))();
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
  std::unique_lock lock(state->mutex);
  while (true) {
    state->wanted.wait(lock, [&] { return !state->queue.empty() || state->closed; });
    if (state->queue.empty()) return;
    auto running = std::make_shared<State::Running>();
    running->task = std::move(state->queue.front());
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

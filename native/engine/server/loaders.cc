#include "engine/server/loaders.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/insist.h"
#include "engine/base/thread_group.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

Status LoadCancelled(const std::string& model) {
  return MakeStatus(
      [&] { return Status::Cancelled("model '" + model + "': loading was cancelled"); });
}

}  // namespace

struct Loaders::State {
  using Clock = std::chrono::steady_clock;

  struct Load {
    Task task;
    Clock::time_point since;    // when it was added
    bool refused = false;       // the task must not begin
    Clock::time_point begun{};  // when its thread took it
    size_t thread = 0;
    bool abandoned = false;
    bool telling = false;  // the task has returned and cannot be abandoned any more
    bool waits = false;    // for other tasks
  };
  // What a loader thread runs.
  struct Here {
    const std::shared_ptr<State>* state;
    Load* load;
  };
  static thread_local const Here* running_here;  // null on other threads

  // Moving a load from one list to the other does not allocate.
  using Loads = std::list<std::shared_ptr<Load>>;

  // Called by CancelQueued, and by loader threads that were not abandoned.
  std::function<void()> changed;

  Options options;
  ThreadGroup threads;

  mutable std::mutex mutex;         // guards all below
  std::condition_variable wanted;   // the first `cores` threads wait for a task
  std::condition_variable overdue;  // the other threads wait until a task is overdue
  Loads queue;
  Loads running;
  std::condition_variable rested;  // threads rest that are too many now
  size_t started = 0;              // threads that run or start, without those that rest
  size_t resting = 0;              // threads that rest, without those that were called
  size_t called = 0;               // threads that rested, and are wanted again
  size_t idle_beyond = 0;          // of the other threads, those that wait for a task
  size_t refusing = 0;             // tasks that a thread is refusing
  bool closed = false;

  // How many threads there may be: one more for each task that hangs, or waits for others.
  size_t MostThreads() const {
    const auto now = Clock::now();
    const auto hanging = std::count_if(running.begin(), running.end(), [&](const auto& load) {
      return load->waits ||
             now - load->begun >= (load->task.is_short ? options.short_patience : options.patience);
    });
    return options.most_threads + std::min<size_t>(hanging, options.most_in_place);
  }

  // Counts one more thread, if there may be one. False: one that rested is that, or none is wanted.
  bool WantsThread() {
    if (started >= std::min(MostThreads(), queue.size() + running.size())) return false;
    started++;
    if (resting == 0) return true;
    resting--;
    called++;
    rested.notify_one();
    return false;
  }

  // Waits until there is a task for this thread. Called with the lock held, which is released
  // during the wait. False: no task will come.
  bool Await(size_t thread, std::unique_lock<std::mutex>* lock) {
    if (thread < std::min(options.cores, options.most_threads)) {
      wanted.wait(*lock, [&] { return !queue.empty() || closed; });
      return !queue.empty();
    }
    while (!closed) {
      if (started > options.most_threads && started > MostThreads()) {
        started--;
        resting++;
        // What it was woken for is for another one.
        if (idle_beyond > 0) overdue.notify_one();
        rested.wait(*lock, [&] { return called > 0 || closed; });
        if (called > 0) called--;
        continue;
      }
      if (queue.empty()) {
        idle_beyond++;
        overdue.wait(*lock);
        idle_beyond--;
        continue;
      }
      const auto due = queue.front()->since + options.overdue;
      if (Clock::now() >= due) break;
      overdue.wait_until(*lock, due);
    }
    // The next task may be overdue, too.
    if (queue.size() > 1 && idle_beyond > 0) overdue.notify_one();
    return !queue.empty();
  }
};

thread_local const Loaders::State::Here* Loaders::State::running_here = nullptr;

Loaders::Loaders(const Options& options, std::function<void()> changed)
    : state_(std::make_shared<State>()), watch_(this) {
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
  return StartThread(state_);
}

bool Loaders::StartThread(const std::shared_ptr<State>& state) {
  try {
    // The threads share ownership of the state, but not of the group, which joins them.
    if (state->threads.Start([state](size_t thread) { Run(state, thread); })) return true;
  } catch (const std::bad_alloc&) {
    // Handled below like a failure of the system to start a thread.
  }
  std::lock_guard lock(state->mutex);
  state->started--;
  return false;
}

void Loaders::Add(Task task) {
  auto load = std::make_shared<State::Load>();
  load->task = std::move(task);
  load->since = State::Clock::now();
  State::Loads one{load};
  bool refused = false;
  bool start = false;
  bool watch = false;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    refused = state.closed;
    if (!refused) {
      state.queue.splice(state.queue.end(), one);
      start = state.WantsThread();
      // With a thread for each task none waits for those that hang.
      watch = !start && state.started < state.queue.size() + state.running.size();
      state.wanted.notify_one();
      if (state.idle_beyond > 0) state.overdue.notify_one();
    }
  }
  if (refused) {
    load->task.refuse(LoadCancelled(load->task.model));
  } else if (start) {
    // If the system cannot start a thread, the existing threads take the task.
    (void)StartThread(state_);
  } else if (watch) {
    WatchOn();
  }
}

void Loaders::WatchOn() {
  const Options& options = state_->options;
  constexpr uint64_t kMs = 1'000'000;
  if (options.timer) {
    options.timer->Schedule(&watch_, NowNs() + options.short_patience.count() * kMs);
  }
}

void Loaders::Watch::OnTimer(uint64_t) {
  if (StartInPlace(loaders_->state_)) loaders_->WatchOn();
}

bool Loaders::StartInPlace(const std::shared_ptr<State>& state) {
  bool start = false;
  {
    std::lock_guard lock(state->mutex);
    if (state->closed || state->queue.empty()) return false;
    start = state->WantsThread();
  }
  if (start) (void)StartThread(state);
  return true;
}

LoaderWait::LoaderWait() noexcept {
  const Loaders::State::Here* const task = Loaders::State::running_here;
  // One that is in another one counts for both.
  if (!task || task->load->waits) return;
  Loaders::State& state = **task->state;
  {
    const std::lock_guard lock(state.mutex);
    if (task->load->abandoned) return;
    const auto waiting = std::count_if(state.running.begin(), state.running.end(),
                                       [](const auto& load) { return load->waits; });
    allowed_ = static_cast<size_t>(waiting) < state.options.most_in_place;
    if (!allowed_) return;
    task->load->waits = counted_ = true;
  }
  (void)Loaders::StartInPlace(*task->state);
}

LoaderWait::~LoaderWait() {
  if (!counted_) return;
  const Loaders::State::Here* const task = Loaders::State::running_here;
  const std::lock_guard lock((*task->state)->mutex);
  task->load->waits = false;
}

const std::string& LoaderWait::model() noexcept {
  static const std::string none;
  const Loaders::State::Here* const task = Loaders::State::running_here;
  return task ? task->load->task.model : none;
}

void Loaders::CancelQueued() {
  State::Loads queue;
  size_t count = 0;
  {
    std::lock_guard lock(state_->mutex);
    queue.swap(state_->queue);
    count = queue.size();
    state_->refusing += count;
  }
  for (auto one = queue.begin(); one != queue.end();) {
    const Task& task = (*one)->task;
    try {
      task.refuse(LoadCancelled(task.model));
      one = queue.erase(one);
    } catch (const std::bad_alloc&) {
      (*one)->refused = true;
      ++one;
    }
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->refusing -= count;
    state_->queue.splice(state_->queue.begin(), queue);
    state_->wanted.notify_all();
  }
  // The loaders may be idle now, and the reaper may wait for that.
  state_->changed();
}

void Loaders::Close() {
  std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->wanted.notify_all();
  state_->overdue.notify_all();
  state_->rested.notify_all();
}

bool Loaders::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->queue.empty() && state_->running.empty() && state_->refusing == 0;
}

std::vector<std::string> Loaders::Abandon() {
  CancelQueued();
  State::Loads stuck;
  {
    std::lock_guard lock(state_->mutex);
    for (auto one = state_->running.begin(); one != state_->running.end();) {
      const auto at = one++;
      if ((*at)->telling) continue;
      (*at)->abandoned = true;
      stuck.splice(stuck.end(), state_->running, at);
      CountAbandonedCalls(1);
    }
  }
  std::vector<std::string> names;
  for (const auto& one : stuck) {
    const Task& task = one->task;
    state_->threads.Abandon(one->thread);
    Insist([&] { names.push_back(task.model); });
    Insist([&] {
      task.refuse(
          Status::Internal("model '" + task.model + "': loading did not return; it was abandoned"));
    });
  }
  return names;
}

void Loaders::Join() {
  if (state_->options.timer) state_->options.timer->Remove(&watch_);
  state_->threads.Join();
}

void Loaders::Run(const std::shared_ptr<State>& state, size_t thread) {
  platform::NameThread("tritonts-load");
  // The runtime starts its threads from this thread, and they inherit the setting.
  platform::UseLongSlices();
  while (true) {
    State::Loads done;  // freed with no lock held, with the task's captures
    State::Loads::iterator at;
    std::shared_ptr<State::Load> load;
    bool refused = false;
    {
      std::unique_lock lock(state->mutex);
      if (!state->Await(thread, &lock)) return;
      at = state->queue.begin();
      state->running.splice(state->running.end(), state->queue, at);
      load = *at;
      load->thread = thread;
      load->begun = State::Clock::now();
      refused = load->refused || state->closed;
    }
    {
      RuntimeCall call;
      const Task& task = load->task;
      Status status;
      std::function<void()> tell;
      if (refused || !call.allowed()) {
        status = LoadCancelled(task.model);
      } else {
        const State::Here here{&state, load.get()};
        State::running_here = &here;
        status = MakeStatus([&] {
          tell = task.run();
          return Status::Ok();
        });
        State::running_here = nullptr;
      }
      bool abandoned = false;
      {
        std::lock_guard lock(state->mutex);
        abandoned = load->abandoned;
        load->telling = !abandoned;
      }
      if (abandoned) {
        task.discard();
        CountAbandonedCalls(-1);
        return;
      }
      if (status.ok()) {
        status = MakeStatus([&] {
          tell();
          return Status::Ok();
        });
      }
      if (!status.ok()) Insist([&] { task.refuse(status); });
    }
    {
      std::lock_guard lock(state->mutex);
      done.splice(done.end(), state->running, at);
    }
    state->changed();
  }
}

}  // namespace tritonts

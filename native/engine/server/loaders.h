// The loader threads of a server, and their queue.
//
// Start starts the first thread. Further threads start on demand, up to a limit. If the system
// cannot start one, fewer threads do the work. A load that does not return can be abandoned,
// together with its thread and the state that they share with this object.
//
// Loads that compute gain nothing from more threads than there are cores for them. More threads
// would only slow down the JS thread, which takes part in each load. Loads that wait for a disk
// gain from more threads. So threads beyond the number of cores take only tasks that have waited in
// the queue for a while.
//
// A task may hang: one that reads a folder on a dead network mount, or a load. Once tasks have run
// for long, and others wait, further threads are started, one for each of them up to a limit. When
// the tasks that hung have returned, as many threads rest.
//
// A task may also wait for others, such as a load of a plug-in that has other models loaded. It
// says so with a LoaderWait, and counts as one that hangs until that ends.
//
// The server owns it. Any thread may call any function, but only the owner may call Start, Join and
// the destructor. Tasks and callbacks run with no lock held.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/timer.h"

namespace tritonts {

class Loaders {
 public:
  struct Task {
    std::string model;
    // Does the work on a loader thread, and returns a function that reports the outcome. If `run`
    // or that function throws std::bad_alloc, nothing was reported.
    std::function<std::function<void()>()> run;
    // Called instead to report why the work is not done, or that it was abandoned. It is called on
    // any thread. If it throws std::bad_alloc, nothing was reported.
    std::function<void(const Status&)> refuse;
    // Called if `run` returns after it was abandoned.
    std::function<void()> discard;
    // Whether it only reads a folder, which takes milliseconds unless the folder hangs.
    bool is_short = false;
  };

  struct Options {
    uint32_t most_threads = 1;
    uint32_t cores = 1;  // those that nothing else needs
    // Threads beyond the number of cores may take a task that has waited this long.
    std::chrono::milliseconds overdue{20};
    // A task that has run for longer counts as one that hangs.
    std::chrono::milliseconds patience{60'000};
    std::chrono::milliseconds short_patience{2'000};
    // How many threads there may be in place of those that hang.
    uint32_t most_in_place = 64;
    // Looks for tasks that hang; it outlives this object. Null: only Add does.
    Timer* timer = nullptr;
  };

  // `changed` is called after each task.
  Loaders(const Options& options, std::function<void()> changed);
  ~Loaders();  // joins
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;

  // Starts the first thread. Called before the first task is added. False: the system could not
  // start it.
  [[nodiscard]] bool Start();
  // Queues a task, whose outcome is reported exactly once. If it throws std::bad_alloc, nothing was
  // queued.
  void Add(Task task);
  // Refuses queued tasks with CANCELLED. If there is no memory to report that now, the loader
  // threads report it later.
  void CancelQueued();
  // From now on every task is refused: new tasks at once, queued tasks when a thread takes them.
  void Close();
  // Whether no task is queued or running.
  bool idle() const;
  // Refuses queued tasks, abandons running tasks, and returns the names of their models. Called
  // after Close. Waits for memory if there is none.
  std::vector<std::string> Abandon();
  // Joins the threads that were not abandoned. Called after Close.
  void Join();

 private:
  struct State;
  friend class LoaderWait;

  static void Run(const std::shared_ptr<State>& state, size_t thread);
  // Starts a thread. False: the system could not start it.
  static bool StartThread(const std::shared_ptr<State>& state);
  // Starts a thread if tasks wait for those that hang. False: nothing waits.
  static bool StartInPlace(const std::shared_ptr<State>& state);

  // Has StartInPlace called.
  class Watch final : public TimerClient {
   public:
    explicit Watch(Loaders* loaders) : loaders_(loaders) {}
    void OnTimer(uint64_t now_ns) override;

   private:
    Loaders* const loaders_;
  };
  // Asks for the next call of it.
  void WatchOn();

  const std::shared_ptr<State> state_;  // shared with the threads
  Watch watch_;
};

// While it exists, the task of the calling thread waits for something that may need a loader
// thread, so one more may run. It does nothing on threads that are not loaders'. Lives on the
// stack.
class LoaderWait {
 public:
  LoaderWait() noexcept;
  ~LoaderWait();
  LoaderWait(const LoaderWait&) = delete;
  LoaderWait& operator=(const LoaderWait&) = delete;

  // Whether there may be a thread in place of this one. False: so many tasks wait for others that
  // none is left for what they wait for.
  bool allowed() const { return allowed_; }
  // The model of the task that the calling thread runs; empty on other threads. Valid until the
  // task returns.
  static const std::string& model() noexcept;

 private:
  bool counted_ = false;
  bool allowed_ = true;
};

}  // namespace tritonts

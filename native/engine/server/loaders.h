// The loader threads of a server, and their queue.
//
// Start starts the first thread. Others start as they are needed, up to a limit. If the system has
// no thread, fewer threads do the work. A load that does not return can be abandoned, together with
// its thread and the state that they share with this object.
//
// Loads that compute gain nothing from more threads than there are cores. More threads would only
// slow down the JS thread, which has a part in each load. Loads that wait for a disk do gain. So
// threads beyond the number of cores take only tasks that have waited in the queue for a while.
//
// The server owns it. Any thread may call any function, except Start, Join and the destructor,
// which are the owner's. Nothing is called with the lock held.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace tritonts {

class Loaders {
 public:
  struct Task {
    std::string model;
    // Does the work on a loader thread, and returns a function that reports the outcome. If either
    // throws std::bad_alloc, nothing was reported.
    std::function<std::function<void()>()> run;
    // Reports instead why the work is not done, or that it was abandoned. It is called on any
    // thread. If it throws std::bad_alloc, nothing was reported.
    std::function<void(const Status&)> refuse;
    // Called if the work returns after it was abandoned.
    std::function<void()> discard;
  };

  struct Options {
    uint32_t most_threads = 1;
    uint32_t cores = 1;
    // Threads beyond the cores may take a task that has waited this long.
    std::chrono::milliseconds overdue{20};
  };

  // `changed` is called after each task.
  Loaders(const Options& options, std::function<void()> changed);
  ~Loaders();  // joins
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;

  // Starts the first thread. Called before the first task is added. False: the system has no
  // thread.
  [[nodiscard]] bool Start();
  // Queues a task, whose outcome is reported exactly once. If it throws std::bad_alloc, nothing was
  // queued.
  void Add(Task task);
  // Refuses tasks that have not begun with CANCELLED. If there is no memory to report that now, the
  // loader threads report it later.
  void CancelQueued();
  // From now on every task is refused when its turn comes.
  void Close();
  // Whether nothing is queued or under way.
  bool idle() const;
  // Abandons the tasks that run, and returns the names of their models. Called after Close. Waits
  // for memory if there is none.
  std::vector<std::string> Abandon();
  // Joins the threads that were not abandoned. Called after Close.
  void Join();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state, size_t thread);
  // Starts a thread. False: the system has none.
  bool StartThread();

  const std::shared_ptr<State> state_;  // shared with the threads
};

}  // namespace tritonts

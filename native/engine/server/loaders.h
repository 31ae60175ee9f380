// The loader threads of a server, and the queue of what they are to do.
//
// The first thread is there from Start; others start as they are needed, up to a number, and where
// the system has none, the work is done by fewer. Join joins them. A load that does not return can
// be abandoned: its thread is left behind, with what it needs of this object.
//
// Loads that keep cores busy gain nothing from more threads than there are cores: those would only
// keep the JS thread, which has its part in each load, from its core. Loads that wait for a disk
// do. So threads beyond the cores take only what the others have left in the queue for a while.
//
// Any thread, but for Join and the destructor. Nothing is called with the lock held.
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
    // Does the work, and returns what then tells of it. On a loader thread. Where one of these
    // throws std::bad_alloc, nothing was told.
    std::function<std::function<void()>()> run;
    // Tells, in place of that, why the work is not done, or that it was abandoned. On any thread.
    // May throw std::bad_alloc, and then nothing was told.
    std::function<void(const Status&)> refuse;
    // The work returned after it was abandoned.
    std::function<void()> discard;
  };

  struct Options {
    uint32_t most_threads = 1;
    uint32_t cores = 1;
    // A task that has waited for so long is for the threads beyond the cores, too.
    std::chrono::milliseconds overdue{20};
  };

  // `changed` is called after each task.
  Loaders(const Options& options, std::function<void()> changed);
  ~Loaders();  // joins
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;

  // Starts the first thread; before the first task. False: the system has none for it.
  [[nodiscard]] bool Start();
  // Every task's outcome is told exactly once. Throws std::bad_alloc, and then did nothing.
  void Add(Task task);
  // Refuses with CANCELLED what has not begun; what there is no memory to tell now the loader
  // threads tell.
  void CancelQueued();
  // From now on every task that begins is refused.
  void Close();
  // Whether nothing is queued or under way.
  bool idle() const;
  // Abandons what is under way, and returns the names of its models. After Close; waits for memory
  // where it is wanting.
  std::vector<std::string> Abandon();
  // Joins the threads that were not left behind. After Close.
  void Join();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state, size_t thread);
  // One more thread, where the system has one.
  bool StartThread();

  const std::shared_ptr<State> state_;  // shared with the threads
};

}  // namespace tritonts

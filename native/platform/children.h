// The child processes that one environment of Node has started.
//
// Node waits for them on the environment's event loop. Of a worker that is terminated that loop
// ends, and nobody would wait for them: each would stay in the system's table of processes for as
// long as this process lives.
#pragma once

#include <unordered_set>

namespace tritonts::platform {

// Of one thread. Each process is the head of a group of its own. Empty on Windows.
class Children {
 public:
  void Add(int process) { processes_.insert(process); }
  // Somebody has waited for it.
  void Remove(int process) { processes_.erase(process); }
  // Ends those that are left with their groups, and has them waited for. Throws std::bad_alloc, and
  // may then be called again.
  void End();

 private:
  std::unordered_set<int> processes_;
};

}  // namespace tritonts::platform

// The child processes that one environment of Node has started.
//
// Node waits for them on the environment's event loop. Of a worker that is terminated that loop
// ends, and nobody would wait for them: each would stay in the system's table of processes for as
// long as this process lives.
#pragma once

#include <unordered_set>
#include <vector>

namespace tritonts::platform {

// The children that the calling thread starts while this exists. One thread uses it. The system
// tells of them right after the start, so that none is missed whose number nobody gets to see.
// Finds none where the system has no list of a thread's children (/proc/thread-self/children).
class NewChildren {
 public:
  // Throws std::bad_alloc.
  NewChildren();
  ~NewChildren();
  NewChildren(const NewChildren&) = delete;
  NewChildren& operator=(const NewChildren&) = delete;

  // Throws std::bad_alloc.
  std::vector<int> Find() const;

 private:
  std::vector<int> List() const;

  int list_ = -1;
  std::vector<int> before_;
};

// Of one thread. A process may be the head of a group, which then ends with it. Empty on Windows.
class Children {
 public:
  void Add(int process) { processes_.insert(process); }
  // Somebody has waited for it.
  void Remove(int process) { processes_.erase(process); }
  // Ends those that are left, with their groups, and has them waited for. Throws std::bad_alloc,
  // and may then be called again.
  void End();

 private:
  std::unordered_set<int> processes_;
};

}  // namespace tritonts::platform

// The child processes that one environment of Node has started.
//
// Node waits for them on the environment's event loop. When a worker is terminated, its loop ends,
// and no thread would wait for its children. Each child would then stay a zombie for as long as
// this process lives.
#pragma once

#include <unordered_set>
#include <vector>

namespace tritonts::platform {

// Finds the children that the calling thread has started since this object was constructed. Only
// one thread uses it. The system lists a child right after its start, so this finds also a child
// whose process id no caller has received. It finds none if the system has no list of a thread's
// children
// (/proc/thread-self/children).
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

// The children of one environment. Only one thread uses it. If a child is the leader of a process
// group, End ends the group, too. On Windows, End does nothing but forget the children.
class Children {
 public:
  void Add(int process) { processes_.insert(process); }
  // Called when the child has been waited for.
  void Remove(int process) { processes_.erase(process); }
  // Kills the remaining children and their groups, and has them waited for. Throws std::bad_alloc,
  // and may then be called again.
  void End();

 private:
  std::unordered_set<int> processes_;
};

}  // namespace tritonts::platform

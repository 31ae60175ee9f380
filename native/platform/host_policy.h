// Where threads run, and on which NUMA node their memory is (Triton: host policies).
//
// Only Linux binds threads; elsewhere policies have no effect, as in Triton.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tritonts::platform {

// A plain value. Threads that a bound thread starts, and processes, inherit both.
struct HostPolicy {
  std::string name = {};
  // The first and the last core of each range; empty: all cores.
  std::vector<std::pair<uint32_t, uint32_t>> cores = {};
  int numa_node = -1;  // -1: any

  bool empty() const { return cores.empty() && numa_node < 0; }
};

// The policy of what instances with these policies share: all their cores, and their node if it is
// the same. Where one of them may run anywhere, what they share may, too. Throws std::bad_alloc.
HostPolicy SharedPolicy(std::span<const HostPolicy> policies);

// Binds the calling thread. Returns why it is impossible, in words; empty: it is bound. If it
// returns a reason, the thread is bound as before. Throws std::bad_alloc.
std::string BindThread(const HostPolicy& policy);

// Whether BindThread has bound the calling thread.
bool IsThreadBound();

// Gives the calling thread the cores and the memory policy that threads had before the first of
// them was bound. A thread inherits from the one that starts it, which may be bound. Does nothing
// if no thread was ever bound.
void UnbindThread();

// How many cores the process may use, whatever the calling thread is bound to; 0: unknown.
uint32_t UnboundCores();

// Binds the calling thread while it exists. The destructor, on the same thread, restores what was
// before.
class ScopedHostPolicy {
 public:
  // Throws std::bad_alloc.
  explicit ScopedHostPolicy(const HostPolicy& policy);
  ~ScopedHostPolicy();
  ScopedHostPolicy(const ScopedHostPolicy&) = delete;
  ScopedHostPolicy& operator=(const ScopedHostPolicy&) = delete;

  // Why the thread could not be bound; empty: it is.
  const std::string& fault() const { return fault_; }

 private:
  struct Before;
  std::string fault_;
  std::unique_ptr<Before> before_;  // null: there is nothing to restore
};

}  // namespace tritonts::platform

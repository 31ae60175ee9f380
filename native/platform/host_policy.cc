#include "host_policy.h"

#include <algorithm>
#include <iterator>
#include <memory>

#if defined(__linux__)
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#endif

namespace tritonts::platform {

HostPolicy SharedPolicy(std::span<const HostPolicy> policies) {
  HostPolicy shared;
  if (policies.empty()) return shared;
  shared = policies.front();
  for (const HostPolicy& one : policies.subspan(1)) {
    if (one.numa_node != shared.numa_node) shared.numa_node = -1;
    if (one.cores.empty()) shared.cores.clear();
    if (shared.cores.empty()) continue;
    const auto is_new = [&](const auto& range) {
      return std::find(shared.cores.begin(), shared.cores.end(), range) == shared.cores.end();
    };
    std::copy_if(one.cores.begin(), one.cores.end(), std::back_inserter(shared.cores), is_new);
  }
  return shared;
}

#if defined(__linux__)

namespace {

// The kernel's masks are words of this size. Their longest has 8,192 cores or 1,024 nodes.
constexpr size_t kBitsOfWord = 64;
constexpr size_t kCoreWords = 128;
constexpr size_t kNodeWords = 16;

using Cores = std::array<uint64_t, kCoreWords>;
using Nodes = std::array<uint64_t, kNodeWords>;

template <size_t kWords>
void SetBit(std::array<uint64_t, kWords>* mask, uint32_t bit) {
  (*mask)[bit / kBitsOfWord] |= uint64_t{1} << (bit % kBitsOfWord);
}

std::string RangeText(const std::vector<std::pair<uint32_t, uint32_t>>& ranges) {
  std::string text;
  for (const auto& [first, last] : ranges) {
    text += (text.empty() ? "" : ",") + std::to_string(first) + "-" + std::to_string(last);
  }
  return text;
}

// The system calls themselves take masks of any length, which the C library's functions do not.
// `thread`: the system's id of a thread; 0: the calling one. Nothing: they are not known.
std::optional<Cores> CoresOf(pid_t thread) {
  Cores mask{};
  if (syscall(SYS_sched_getaffinity, thread, sizeof(mask), mask.data()) <= 0) return std::nullopt;
  return mask;
}

bool SetCoresOfThread(const Cores& mask) {
  return syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask.data()) == 0;
}

bool SetMemoryOfThread(int policy, const Nodes& nodes) {
  // The default policy has no nodes. Of a mask, the kernel reads one bit less than it is told.
  const bool any = policy != MPOL_DEFAULT;
  return syscall(SYS_set_mempolicy, policy, any ? nodes.data() : nullptr,
                 any ? kNodeWords * kBitsOfWord + 1 : 0) == 0;
}

std::string Refused(const HostPolicy& policy, const std::string& what, int error) {
  std::string why = std::generic_category().message(error);
  if (error == EINVAL) why = "the process may not use them, or they do not exist";
  if (error == EPERM || error == ENOSYS) {
    why += ": containers forbid it, unless they have the capability SYS_NICE";
  }
  return "host policy '" + policy.name + "': cannot bind a thread to " + what + ": " + why;
}

std::string BindCores(const HostPolicy& policy) {
  if (policy.cores.empty()) return {};
  const std::string what = "the cores " + RangeText(policy.cores);
  Cores mask{};
  for (const auto& [first, last] : policy.cores) {
    if (last >= kCoreWords * kBitsOfWord) return Refused(policy, what, EINVAL);
    for (uint32_t core = first; core <= last; core++) SetBit(&mask, core);
  }
  return SetCoresOfThread(mask) ? std::string() : Refused(policy, what, errno);
}

std::string BindMemory(const HostPolicy& policy) {
  if (policy.numa_node < 0) return {};
  const std::string what = "the memory of NUMA node " + std::to_string(policy.numa_node);
  Nodes nodes{};
  if (static_cast<size_t>(policy.numa_node) >= kNodeWords * kBitsOfWord) {
    return Refused(policy, what, EINVAL);
  }
  SetBit(&nodes, static_cast<uint32_t>(policy.numa_node));
  return SetMemoryOfThread(MPOL_BIND, nodes) ? std::string() : Refused(policy, what, errno);
}

// What threads had before the first of them was bound.
struct Unbound {
  std::optional<Cores> cores;
  std::optional<int> memory;  // the memory policy
  Nodes nodes{};
};

std::once_flag unbound_noted;
Unbound unbound;
std::atomic<bool> is_noted{false};

std::optional<int> MemoryOfThread(Nodes* nodes) {
  int policy = 0;
  if (syscall(SYS_get_mempolicy, &policy, nodes->data(), kNodeWords * kBitsOfWord, nullptr, 0) !=
      0) {
    return std::nullopt;
  }
  return policy;
}

std::string Bind(const HostPolicy& policy) {
  if (policy.empty()) return {};
  std::call_once(unbound_noted, [] {
    // The main thread's id is the process' id.
    unbound.cores = CoresOf(getpid());
    unbound.memory = MemoryOfThread(&unbound.nodes);
    is_noted.store(true, std::memory_order_release);
  });
  const std::optional<Cores> before = CoresOf(0);
  std::string fault = BindCores(policy);
  if (!fault.empty()) return fault;
  fault = BindMemory(policy);
  if (!fault.empty() && !policy.cores.empty() && before) (void)SetCoresOfThread(*before);
  return fault;
}

thread_local bool thread_is_bound = false;

}  // namespace

std::string BindThread(const HostPolicy& policy) {
  std::string fault = Bind(policy);
  if (fault.empty() && !policy.empty()) thread_is_bound = true;
  return fault;
}

bool IsThreadBound() {
  return thread_is_bound;
}

void UnbindThread() {
  if (!is_noted.load(std::memory_order_acquire)) return;
  if (unbound.cores) (void)SetCoresOfThread(*unbound.cores);
  if (unbound.memory) (void)SetMemoryOfThread(*unbound.memory, unbound.nodes);
  thread_is_bound = false;
}

uint32_t UnboundCores() {
  const std::optional<Cores> cores =
      is_noted.load(std::memory_order_acquire) ? unbound.cores : CoresOf(0);
  uint32_t count = 0;
  if (cores) {
    for (const uint64_t word : *cores) count += static_cast<uint32_t>(std::popcount(word));
  }
  return count;
}

struct ScopedHostPolicy::Before {
  std::optional<Cores> cores;
  std::optional<int> memory;  // the memory policy
  Nodes nodes{};
};

ScopedHostPolicy::ScopedHostPolicy(const HostPolicy& policy) {
  if (policy.empty()) return;
  auto before = std::make_unique<Before>();
  if (!policy.cores.empty()) before->cores = CoresOf(0);
  if (policy.numa_node >= 0) before->memory = MemoryOfThread(&before->nodes);
  fault_ = Bind(policy);
  if (fault_.empty()) before_ = std::move(before);
}

ScopedHostPolicy::~ScopedHostPolicy() {
  if (!before_) return;
  if (before_->memory) (void)SetMemoryOfThread(*before_->memory, before_->nodes);
  if (before_->cores) (void)SetCoresOfThread(*before_->cores);
}

#else

struct ScopedHostPolicy::Before {};

std::string BindThread(const HostPolicy&) {
  return {};
}

bool IsThreadBound() {
  return false;
}

void UnbindThread() {}

uint32_t UnboundCores() {
  return 0;
}

ScopedHostPolicy::ScopedHostPolicy(const HostPolicy&) {}

ScopedHostPolicy::~ScopedHostPolicy() = default;

#endif

}  // namespace tritonts::platform

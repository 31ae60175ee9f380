// Binding threads to cores and nodes, and letting them go again.
#include "platform/host_policy.h"

#include <thread>

#include "check.h"

#if defined(__linux__)
#include <sched.h>

namespace tritonts::test {

using platform::HostPolicy;

namespace {

std::vector<uint32_t> Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (uint32_t core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

HostPolicy On(uint32_t core) {
  return {"near", {{core, core}}, -1};
}

}  // namespace

TEST(a_policy_binds_a_thread_until_it_is_unbound) {
  const std::vector<uint32_t> all = Cores();
  const uint32_t last = all.back();
  std::thread([&] {
    CHECK(!platform::IsThreadBound());
    CHECK_EQ(platform::BindThread({}), std::string());
    CHECK(!platform::IsThreadBound());
    CHECK_EQ(platform::BindThread(On(last)), std::string());
    CHECK(platform::IsThreadBound());
    CHECK(Cores() == std::vector<uint32_t>{last});
    CHECK_EQ(platform::UnboundCores(), static_cast<uint32_t>(all.size()));
    std::thread([&] {
      CHECK(Cores() == std::vector<uint32_t>{last});
      platform::UnbindThread();
      CHECK(Cores() == all);
    }).join();
    platform::UnbindThread();
    CHECK(!platform::IsThreadBound());
    CHECK(Cores() == all);
  }).join();
  CHECK(Cores() == all);
}

TEST(a_scoped_policy_restores_what_was_before) {
  const std::vector<uint32_t> all = Cores();
  {
    const platform::ScopedHostPolicy bound(On(all.front()));
    CHECK_EQ(bound.fault(), std::string());
    CHECK(Cores() == std::vector<uint32_t>{all.front()});
    CHECK(!platform::IsThreadBound());
  }
  CHECK(Cores() == all);
}

TEST(a_policy_without_a_core_of_this_process_is_refused_by_words) {
  const std::vector<uint32_t> all = Cores();
  for (const uint32_t core : {8191u, 8192u, ~0u}) {
    const platform::ScopedHostPolicy bound(On(core));
    CHECK(Contains(bound.fault(), "host policy 'near': cannot bind a thread to the cores " +
                                      std::to_string(core) + "-"));
    CHECK(Contains(bound.fault(), "the process may not use them"));
  }
  HostPolicy far = On(all.front());
  far.numa_node = 1023;
  // In a container it may be refused because it is forbidden, and not because there is no such
  // node.
  CHECK(Contains(platform::BindThread(far), "the memory of NUMA node 1023"));
  CHECK(Cores() == all);
  CHECK(!platform::IsThreadBound());
}

TEST(what_instances_share_runs_where_each_of_them_may) {
  CHECK(platform::SharedPolicy({}).empty());
  const HostPolicy low{"low", {{0, 1}}, 0};
  const HostPolicy high{"high", {{2, 3}}, 0};
  const HostPolicy policies[] = {low, high, low};
  const HostPolicy both = platform::SharedPolicy(policies);
  CHECK_EQ(both.cores.size(), 2u);
  CHECK_EQ(both.numa_node, 0);
  const HostPolicy with_any[] = {low, {"any", {}, 1}, high};
  CHECK(platform::SharedPolicy(with_any).empty());
}

}  // namespace tritonts::test
#endif

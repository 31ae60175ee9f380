// The cores and memory that this process may use. In a container they are less than the host's.
#pragma once

#include <cstdint>
#include <string>

namespace tritonts::platform {

// The files in which Linux describes control groups.
struct CgroupFiles {
  std::string root = "/sys/fs/cgroup";
  std::string membership = "/proc/self/cgroup";  // the groups of this process
};

// The CPU quota of the cgroup and its parents (version 2 and 1), in processors; on Windows that of
// the job object. Infinite if they set no limit. Any thread may call it.
double CpuQuota(const CgroupFiles& files = {});

// The memory limit of the cgroup and its parents, in bytes; on Windows that of the job object.
// UINT64_MAX if they set no limit. Any thread may call it.
uint64_t MemoryQuota(const CgroupFiles& files = {});

// The smaller of the affinity mask and the CPU quota, rounded up, at least 1. Any thread may call
// it.
uint32_t AvailableCores(const CgroupFiles& files = {});

// The same rounded down, at least 1: how many threads may be busy all the time without the quota
// stopping them. Any thread may call it.
uint32_t WholeCores(const CgroupFiles& files = {});

// The smaller of the machine's memory and the limit of the cgroup or job, in bytes. Any thread may
// call it.
uint64_t AvailableMemory(const CgroupFiles& files = {});

}  // namespace tritonts::platform

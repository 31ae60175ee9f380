// How much of the machine this process may use: what a container leaves of it, not what the host
// has.
#pragma once

#include <cstdint>
#include <string>

namespace tritonts::platform {

// Where Linux tells of control groups.
struct CgroupFiles {
  std::string root = "/sys/fs/cgroup";
  std::string membership = "/proc/self/cgroup";  // which groups this process is in
};

// Processors' worth of time that the cgroup and its parents (version 2 and 1) leave this process;
// infinite where they set no limit. Any thread.
double CpuQuota(const CgroupFiles& files = {});

// Bytes of memory that the cgroup and its parents leave this process; UINT64_MAX where they set no
// limit. Any thread.
uint64_t MemoryQuota(const CgroupFiles& files = {});

// The smaller of the affinity mask and the CPU quota, rounded up, at least 1. Any thread.
uint32_t AvailableCores(const CgroupFiles& files = {});

// The smaller of the machine's memory and the cgroup's limit, in bytes. Any thread.
uint64_t AvailableMemory(const CgroupFiles& files = {});

}  // namespace tritonts::platform

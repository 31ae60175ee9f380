#include "cores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "host_policy.h"

#if defined(_WIN32)
#include <windows.h>

#include <bit>
#elif defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace tritonts::platform {

#if defined(__linux__)
namespace {

// Visits the folders of this process's cgroup and its parents, leaf first, below `root`.
// `controller` is "" for version 2.
template <typename Visit>
void VisitCgroups(const CgroupFiles& files, const std::string& root, const std::string& controller,
                  Visit visit) {
  std::ifstream file(files.membership);
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty()
            ? !controllers.empty()
            : ("," + controllers + ",").find("," + controller + ",") == std::string::npos) {
      continue;
    }
    for (std::string path = line.substr(second + 1); path.size() > 1;
         path.resize(std::min(path.rfind('/'), path.size() - 1))) {
      visit(root + path);
    }
    visit(root);
    return;
  }
}

}  // namespace

double CpuQuota(const CgroupFiles& files) {
  double quota = std::numeric_limits<double>::infinity();
  VisitCgroups(files, files.root, "", [&](const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string limit;
    double period = 0;
    if (file >> limit >> period && limit != "max" && period > 0) {
      quota = std::min(quota, std::strtod(limit.c_str(), nullptr) / period);
    }
  });
  VisitCgroups(files, files.root + "/cpu", "cpu", [&](const std::string& folder) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    double limit = 0;
    double period = 0;
    if (quota_file >> limit && period_file >> period && limit > 0 && period > 0) {
      quota = std::min(quota, limit / period);
    }
  });
  return quota;
}

uint64_t MemoryQuota(const CgroupFiles& files) {
  uint64_t quota = std::numeric_limits<uint64_t>::max();
  const auto consider = [&](const std::string& path) {
    std::ifstream file(path);
    uint64_t limit = 0;
    if (file >> limit && limit > 0) quota = std::min(quota, limit);
  };
  VisitCgroups(files, files.root, "",
               [&](const std::string& folder) { consider(folder + "/memory.max"); });
  VisitCgroups(files, files.root + "/memory", "memory",
               [&](const std::string& folder) { consider(folder + "/memory.limit_in_bytes"); });
  return quota;
}
#elif defined(_WIN32)
namespace {

// What the job object of this process limits, such as that of a container. False: there is none.
template <typename Limits>
bool ReadJob(JOBOBJECTINFOCLASS kind, Limits* limits) {
  return QueryInformationJobObject(nullptr, kind, limits, sizeof(*limits), nullptr) != 0;
}

}  // namespace

double CpuQuota(const CgroupFiles&) {
  constexpr DWORD kCapped =
      JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  // The rate is in 1/100 % of all cores of the machine.
  constexpr double kWhole = 10'000;
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION limits{};
  if (!ReadJob(JobObjectCpuRateControlInformation, &limits) ||
      (limits.ControlFlags & kCapped) != kCapped || limits.CpuRate == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return limits.CpuRate / kWhole * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

uint64_t MemoryQuota(const CgroupFiles&) {
  uint64_t quota = std::numeric_limits<uint64_t>::max();
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  if (!ReadJob(JobObjectExtendedLimitInformation, &limits)) return quota;
  const DWORD flags = limits.BasicLimitInformation.LimitFlags;
  if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
    quota = std::min<uint64_t>(quota, limits.ProcessMemoryLimit);
  }
  if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
    quota = std::min<uint64_t>(quota, limits.JobMemoryLimit);
  }
  return quota;
}
#else
double CpuQuota(const CgroupFiles&) {
  return std::numeric_limits<double>::infinity();
}
uint64_t MemoryQuota(const CgroupFiles&) {
  return std::numeric_limits<uint64_t>::max();
}
#endif

namespace {

// The cores that the process is not kept from by its affinity mask.
uint32_t CoresOfMask() {
  uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
#if defined(__linux__)
  if (const uint32_t unbound = UnboundCores(); unbound > 0) cores = unbound;
#elif defined(_WIN32)
  DWORD_PTR allowed = 0;
  DWORD_PTR all = 0;
  // Both are 0 for a process in several groups of cores.
  if (GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all) && allowed != all) {
    cores = static_cast<uint32_t>(std::popcount(uint64_t{allowed}));
  }
#endif
  return cores;
}

}  // namespace

uint32_t WholeCores(const CgroupFiles& files) {
  const uint32_t cores = CoresOfMask();
  const double quota = CpuQuota(files);
  return quota < cores ? static_cast<uint32_t>(std::max(1.0, std::floor(quota))) : cores;
}

uint32_t AvailableCores(const CgroupFiles& files) {
  uint32_t cores = CoresOfMask();
  const double quota = CpuQuota(files);
  if (quota < cores) cores = static_cast<uint32_t>(std::max(1.0, std::ceil(quota)));
  return cores;
}

uint64_t AvailableMemory(const CgroupFiles& files) {
  uint64_t memory = uint64_t{4} << 30;
#if defined(_WIN32)
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status)) memory = status.ullTotalPhys;
#elif defined(__unix__) || defined(__APPLE__)
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) memory = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
#endif
  return std::min(memory, MemoryQuota(files));
}

}  // namespace tritonts::platform

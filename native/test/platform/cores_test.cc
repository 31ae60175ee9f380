// The limits of control groups, read from folders that the tests write.
#include "platform/cores.h"

#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "check.h"

namespace tritonts::test {

#if defined(__linux__)

namespace {

using platform::AvailableCores;
using platform::AvailableMemory;
using platform::CpuQuota;
using platform::MemoryQuota;
using platform::WholeCores;

constexpr uint64_t kNoLimit = UINT64_MAX;

class FakeCgroups {
 public:
  explicit FakeCgroups(const std::string& membership) {
    std::string pattern = (std::filesystem::temp_directory_path() / "cgroup-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    Write("membership", membership);
    files.root = root_.string();
    files.membership = (root_ / "membership").string();
  }
  ~FakeCgroups() { std::filesystem::remove_all(root_); }
  FakeCgroups(const FakeCgroups&) = delete;
  FakeCgroups& operator=(const FakeCgroups&) = delete;

  FakeCgroups& Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }

  platform::CgroupFiles files;

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST(cores_are_those_of_the_machine_without_control_groups) {
  FakeCgroups groups("");
  CHECK(std::isinf(CpuQuota(groups.files)));
  CHECK_EQ(MemoryQuota(groups.files), kNoLimit);
  CHECK(AvailableCores(groups.files) >= 1);
  CHECK(AvailableMemory(groups.files) > 0);
  platform::CgroupFiles missing{"/nowhere", "/nowhere/at/all"};
  CHECK(std::isinf(CpuQuota(missing)));
}

TEST(cores_follow_the_quota_of_version_2) {
  FakeCgroups groups("0::/app\n");
  groups.Write("app/cpu.max", "150000 100000\n").Write("app/memory.max", "1000000\n");
  CHECK_EQ(CpuQuota(groups.files), 1.5);
  CHECK_EQ(MemoryQuota(groups.files), 1'000'000u);
  CHECK_EQ(AvailableMemory(groups.files), 1'000'000u);
}

TEST(cores_are_rounded_up_and_at_least_one) {
  FakeCgroups groups("0::/app\n");
  for (const char* quota : {"100 100000\n", "99999 100000\n", "100000 100000\n"}) {
    groups.Write("app/cpu.max", quota);
    CHECK_EQ(AvailableCores(groups.files), 1u);
  }
  groups.Write("app/cpu.max", "99999999900000 100000\n");
  CHECK_EQ(AvailableCores(groups.files), AvailableCores(FakeCgroups("").files));
}

TEST(whole_cores_are_rounded_down) {
  FakeCgroups groups("0::/app\n");
  for (const char* quota : {"100 100000\n", "100000 100000\n", "199999 100000\n"}) {
    groups.Write("app/cpu.max", quota);
    CHECK_EQ(WholeCores(groups.files), 1u);
  }
  groups.Write("app/cpu.max", "max 100000\n");
  CHECK_EQ(WholeCores(groups.files), AvailableCores(groups.files));
}

TEST(cores_follow_the_tightest_of_all_parents) {
  FakeCgroups groups("0::/a/b/c\n");
  groups.Write("a/b/c/cpu.max", "max 100000\n")
      .Write("a/b/cpu.max", "50000 100000\n")
      .Write("a/cpu.max", "200000 100000\n")
      .Write("a/b/c/memory.max", "max\n")
      .Write("a/b/memory.max", "5000\n")
      .Write("memory.max", "3000\n");
  CHECK_EQ(CpuQuota(groups.files), 0.5);
  CHECK_EQ(MemoryQuota(groups.files), 3000u);
}

TEST(cores_find_the_root_of_a_namespace) {
  // In a container the path is the host's, and only the root exists.
  FakeCgroups groups("0::/docker/0123\n");
  groups.Write("cpu.max", "200000 100000\n");
  CHECK_EQ(CpuQuota(groups.files), 2.0);
}

TEST(cores_follow_the_quota_of_version_1) {
  FakeCgroups groups("12:memory:/m\n7:cpuset:/set\n3:cpu,cpuacct:/c/d\n1:name=systemd:/x\n");
  groups.Write("cpu/c/d/cpu.cfs_quota_us", "-1\n")
      .Write("cpu/c/d/cpu.cfs_period_us", "100000\n")
      .Write("cpu/c/cpu.cfs_quota_us", "250000\n")
      .Write("cpu/c/cpu.cfs_period_us", "100000\n")
      .Write("memory/m/memory.limit_in_bytes", "7000\n")
      .Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_EQ(CpuQuota(groups.files), 2.5);
  CHECK_EQ(MemoryQuota(groups.files), 7000u);
}

TEST(cores_take_no_notice_of_lines_that_make_no_sense) {
  FakeCgroups groups("nonsense\n:\n\n5:cpu\n0::/app\n");
  groups.Write("app/cpu.max", "what is this\n");
  CHECK(std::isinf(CpuQuota(groups.files)));
  groups.Write("app/cpu.max", "100000\n");
  CHECK(std::isinf(CpuQuota(groups.files)));
  groups.Write("app/cpu.max", "100000 0\n");
  CHECK(std::isinf(CpuQuota(groups.files)));
  groups.Write("app/cpu.max", "100000 50000\n");
  CHECK_EQ(CpuQuota(groups.files), 2.0);
}

#endif

}  // namespace tritonts::test
